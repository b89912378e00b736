"""The prediction file for the hidden test split."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.tasks.figqa import submission
from figlang.types import Item, Prediction


def item(gold: int | None) -> Item:
    return Item("1", "1", "Her word was “titanium”.", ("It holds.", "It breaks."), gold)


def submitted(path: Path, gold: int | None, *scores: float) -> dict[str, Any]:
    submission.write(path / "submission.json", [item(gold)], [Prediction("1", "1", gold, scores)])
    (row,) = json.loads((path / "submission.json").read_text(encoding="utf-8"))
    return row


def test_a_row_has_exactly_the_five_fields(tmp_path: Path) -> None:
    assert set(submitted(tmp_path, None, 0, 1)) == {
        "context",
        "question",
        "options",
        "answers",
        "predicted_answers",
    }


def test_a_row_repeats_the_item_with_an_empty_question(tmp_path: Path) -> None:
    row = submitted(tmp_path, None, 0, 1)
    assert (row["context"], row["question"], row["options"]) == (
        "Her word was “titanium”.",
        "",
        ["It holds.", "It breaks."],
    )


@pytest.mark.parametrize(("scores", "text", "index"), [((1, 0), "It holds.", 0), ((0, 1), "It breaks.", 1)])
def test_the_predicted_answer_is_the_choice(
    tmp_path: Path, scores: tuple[float, ...], text: str, index: int
) -> None:
    assert submitted(tmp_path, None, *scores)["predicted_answers"] == {"text": text, "option_index": index}


def test_a_hidden_answer_stays_hidden(tmp_path: Path) -> None:
    assert submitted(tmp_path, None, 0, 1)["answers"] == {"text": None, "option_index": -1}


def test_a_known_answer_is_given(tmp_path: Path) -> None:
    assert submitted(tmp_path, 1, 1, 0)["answers"] == {"text": "It breaks.", "option_index": 1}


def test_a_tie_is_submitted_as_the_first_of_the_best(tmp_path: Path) -> None:
    assert submitted(tmp_path, None, 0.5, 0.5)["predicted_answers"]["option_index"] == 0


def test_rows_are_in_the_order_of_the_items(tmp_path: Path) -> None:
    items = [Item(str(number), "g", f"m{number}", ("x", "y"), None) for number in range(5)]
    submission.write(tmp_path / "s.json", items, [Prediction(item.id, "g", None, (0, 1)) for item in items])
    assert [row["context"] for row in json.loads((tmp_path / "s.json").read_text())] == [
        "m0",
        "m1",
        "m2",
        "m3",
        "m4",
    ]


def test_items_without_predictions_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        submission.write(tmp_path / "s.json", [item(None), item(None)], [Prediction("1", "1", None, (0, 1))])


def test_predictions_of_other_items_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'1'.*'2'"):
        submission.write(tmp_path / "s.json", [item(None)], [Prediction("2", "2", None, (0, 1))])
