"""Predictions, metrics, comparisons and reports from Python."""

import json
from pathlib import Path
from typing import Any

import pytest

import figlang
from figlang.errors import FiglangError
from figlang.reports import differences
from figlang.runs import systems
from figlang.statistics.comparison import every_pair
from figlang.types import Prediction

GOLD = [0, 1, 1, 0, 1, 0]


def predictions(wrong: int, name: str) -> figlang.Predictions:
    """Three pairs; every `wrong`-th item is wrong."""
    rows: list[dict[str, Any]] = []
    for place, gold in enumerate(GOLD):
        chosen = gold if place % wrong else 1 - gold
        rows.append(
            {
                "id": f"i{place}",
                "group": str(place // 2),
                "gold": gold,
                "scores": [1.5 - chosen, 0.5 + chosen],
            }
        )
        rows[-1]["kind"] = ["x", "y"] if place % 2 else "x"
    return figlang.Predictions.from_list(rows, name)


def test_predictions_come_back_from_lists_pandas_and_datasets() -> None:
    made = predictions(3, "a")
    assert list(figlang.Predictions.from_list(made.to_list())) == list(made)
    assert list(figlang.Predictions.from_pandas(made.to_pandas())) == list(made)
    assert list(figlang.Predictions.from_datasets(made.to_datasets())) == list(made)
    frame = made.to_pandas()
    assert float(frame["correct"].mean()) == figlang.measure(made).accuracy.value  # type: ignore[union-attr]
    assert made.ids == list(frame["id"])
    assert made.choices == list(frame["choice"])
    items = figlang.load("miqa_sample", limit=6)
    found = figlang.open_model("smollm2", init="tiny").predict(items, prompt="miqa_qa")
    assert list(figlang.Predictions.from_pandas(found.to_pandas())) == list(found)


def test_hidden_labels_and_ties_survive_pandas() -> None:
    rows = [{"id": "a", "scores": [1, 1], "gold": 0}, {"id": "b", "scores": [1, 2]}]
    frame = figlang.Predictions.from_list(rows).to_pandas()
    first, second = figlang.Predictions.from_pandas(frame)
    assert (first.choice, first.gold, second.choice, second.gold) == (None, 0, 1, None)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"scores": [1, 2]}, "record 1 has no id"),
        ({"id": "a", "scores": [1, 2]}, "record 1: the id a is that of an earlier one"),
        ({"id": "b", "scores": "12"}, "record 1: scores must be a list"),
        ({"id": "b", "scores": [1, "x"]}, "record 1: a score is not a number"),
        ({"id": "b", "scores": [1, 2], "gold": 2}, "record 1: gold=2 is not a place among 2 options"),
    ],
)
def test_a_wrong_record_is_named_in_one_line(record: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError) as caught:
        figlang.Predictions.from_list([{"id": "a", "scores": [1, 2]}, record])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_metrics_carry_interval_blind_accuracy_and_categories() -> None:
    items = figlang.load("figqa_sample", limit=20)
    found = figlang.open_model("minilm", init="tiny").predict(items)
    metrics = figlang.measure(found)
    assert metrics.accuracy is not None
    assert metrics.accuracy.low <= metrics.accuracy.value <= metrics.accuracy.high
    assert metrics.accuracy.value == sum(row.correct is True for row in found) / len(found)
    assert metrics.blind is not None
    assert metrics.gain is not None
    assert found.blind is not None
    assert metrics.blind.value == sum(row.correct is True for row in found.blind) / len(found)
    assert metrics.pair_accuracy is not None
    assert metrics.pair_accuracy.n == 10
    assert set(metrics.by("commonsense")) <= {"cultural", "objects", "visual", "social"}
    assert metrics.by("no_such") == {}
    frame = metrics.to_pandas().set_index("metric")
    assert frame.loc["accuracy", "value"] == metrics.accuracy.value
    assert frame.loc["blind accuracy", "low"] == metrics.blind.low
    unseen = figlang.open_model("minilm", init="tiny").predict(items, blind=False)
    assert unseen.blind is None
    assert figlang.measure(unseen).blind is None


def test_measure_takes_rows_too() -> None:
    rows = [Prediction("a", "a", 0, (1.0, 0.0)), Prediction("b", "b", 0, (0.0, 1.0))]
    accuracy = figlang.measure(rows).accuracy
    assert accuracy is not None
    assert accuracy.value == 0.5
    assert figlang.measure([Prediction("a", "a", None, (1.0, 0.0))]).accuracy is None


def test_a_comparison_is_that_of_the_command(tmp_path: Path) -> None:
    a, b, c = (predictions(wrong, f"every {wrong}") for wrong in (2, 3, 4))
    paths = [str(each.save(tmp_path / "systems")) for each in (a, b, c)]
    found = figlang.compare(a, b, c)
    read = systems.read(paths)
    theirs = every_pair([[system.predictions] for system in read])
    assert list(found.pairs) == theirs
    assert found.ids == tuple(a.ids)
    assert figlang.compare(*paths).pairs == found.pairs
    assert found.table.rows == differences.table(systems.pooled(read), theirs).rows
    with pytest.raises(FiglangError, match="3 systems are compared"):
        _ = found.difference
    two = figlang.compare(a, b)
    assert two.difference.value == pytest.approx(4 / 6 - 3 / 6)
    assert two.difference.low <= two.difference.value <= two.difference.high
    assert two.pair_difference is not None
    frame = found.to_pandas()
    assert list(frame["p_holm"]) == [one.items_holm for one in theirs]
    written = found.write(tmp_path / "tables")
    assert {"systems.tex", "comparison.csv"} <= {path.name for path in written.iterdir()}


def test_other_items_are_not_compared() -> None:
    with pytest.raises(FiglangError):
        figlang.compare(
            predictions(2, "a"), figlang.Predictions.from_list([{"id": "z", "scores": [1, 2], "gold": 0}])
        )
    with pytest.raises(FiglangError, match="predictions or the path of a run are wanted, not dict"):
        figlang.compare(predictions(2, "a"), {})  # type: ignore[arg-type]


def test_a_report_from_memory_and_from_folders(tmp_path: Path) -> None:
    items = figlang.load("figqa_sample", limit=12)
    base = figlang.open_model("minilm", init="tiny", name="base").predict(items)
    other = figlang.open_model("bert", init="tiny").predict(items, scoring="pll")
    paper = tmp_path / "paper"
    page = figlang.report([base, other.save(tmp_path / "other")], paper)
    assert page == paper / "report.html"
    text = page.read_text()
    assert "base" in text
    assert items[0].context in text
    assert (paper / "tables" / "comparison.tex").is_file()
    # Predictions from memory stay beside the page, so that its numbers can be computed again.
    assert list(figlang.Predictions.read(paper / "predictions" / "base")) == list(base)
    assert "figlang evaluate model=minilm model.init=tiny model.name=base" in text
    assert figlang.report([base, other], paper) == page
    assert figlang.report(base, tmp_path / "one").is_file()


def test_results_show_themselves_escaped() -> None:
    own = predictions(2, "<b>bold</b>")
    metrics, compared = figlang.measure(own), figlang.compare(own, predictions(3, "b"))
    for result in (own, metrics, compared):
        assert "&lt;b&gt;bold" in result._repr_html_() or result is compared
        assert "<b>" not in result._repr_html_()
        assert "<b>bold</b>" in repr(result) or result is compared
    assert "accuracy" in repr(metrics)
    assert "pair accuracy" in metrics._repr_html_()
    assert max(map(len, repr(own).splitlines())) <= 100


def test_saved_predictions_are_an_evaluation(tmp_path: Path) -> None:
    items = figlang.load("figqa_sample", limit=4)
    found = figlang.open_model("minilm", init="tiny").predict(items)
    folder = found.save(tmp_path / "result")
    content = json.loads((folder / "metrics.json").read_text())
    assert content["signature"] == found.signature
    again = figlang.Predictions.read(folder)
    assert (list(again), list(again.blind or ())) == (list(found), list(found.blind or ()))
    assert again.document["metrics"] == found.document["metrics"]
    own = predictions(2, "mine")
    file = own.save(tmp_path / "own")
    assert file == tmp_path / "own" / "mine.jsonl"
    assert figlang.Predictions.read(file).name == "mine"
    with pytest.raises(FiglangError, match="is there already"):
        own.save(tmp_path / "own")


def test_own_items_are_kept_with_their_predictions_and_shown_in_a_report(tmp_path: Path) -> None:
    options = ["It was soft.", "It was rough."]
    rows = [
        {"context": "Her voice was velvet", "options": options, "gold": 0, "group": "voice", "kind": "touch"},
        {"context": "Her voice was gravel", "options": options, "gold": 1, "group": "voice"},
    ]
    items = figlang.items(rows, name="voices")
    found = figlang.open_model("minilm", init="tiny").predict(items, name="random")
    folder = found.save(tmp_path / "saved")
    again = figlang.Predictions.read(folder)
    assert again.items == tuple(items)
    assert again.save(tmp_path / "copy") == tmp_path / "copy"
    for source in (found, folder, tmp_path / "copy"):
        text = figlang.report(source, tmp_path / "paper").read_text()
        assert "Her voice was gravel" in text
    kept = folder / "items.jsonl"
    kept.write_text(kept.read_text().replace("gravel", "sand"))
    with pytest.raises(FiglangError, match=r"items\.jsonl"):
        figlang.Predictions.read(folder)
    assert figlang.load("figqa_sample", limit=2).words
    assert not figlang.open_model("minilm", init="tiny").predict(figlang.load("figqa_sample", limit=2)).items
