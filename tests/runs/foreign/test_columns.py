"""Tables of one's own and their cells: what names an option, an item, a cluster and scores."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.runs.foreign import columns, harness, opening
from figlang.runs.foreign.rows import identifier, option, scores
from figlang.types import Prediction


def read(folder: Path, *rows: Mapping[str, Any], join: str | None = None) -> list[Prediction]:
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return columns.lines(path, join)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        *[(0, 0), (999, 999), (1000, None), (-1, None), (True, None), (1.5, None)],
        *[("2", 2), ("2.0", 2), ("999", 999), ("1000", None)],
        *[(" B ", 1), ("AB", None), ("", None), ("b", None)],
    ],
)
def test_what_names_an_option(value: Any, place: int | None) -> None:
    assert option(value) == place
    assert option("1", ["no", "1", "0"]) == 1, "a text of the options counts before a number"


def test_the_first_value_that_is_there_is_the_name() -> None:
    places = ("a.b", "c")
    assert identifier({"a": {"b": "x"}, "c": "y"}, places, "here") == "x"
    assert identifier({"a": {"b": ""}, "c": 7}, places, "here") == "7"
    for row in ({"c": True}, {"c": 1.5}, {"a": "b"}, {"c": 10**400}):
        with pytest.raises(FiglangError, match=r"here has no a\.b or c; name the column of ids by join="):
            identifier(row, places, "here")


@pytest.mark.parametrize("values", [[0.5], [], "01", [1, "x"], [1, None], [1, float("inf")]])
def test_scores_are_two_finite_numbers_or_more(values: Any) -> None:
    assert scores([1, "2"], "here") == (1.0, 2.0)
    with pytest.raises(FiglangError, match="here has no list of two finite scores or more"):
        scores(values, "here")


def test_a_file_of_choices_has_two_options_at_least(tmp_path: Path) -> None:
    (row,) = read(tmp_path, {"id": "a", "gold": 0, "choice": "A"})
    assert (row.scores, row.paired, row.gold) == ((1.0, 0.0), False, 0)
    (hidden,) = read(tmp_path, {"id": "a", "gold": None, "choice": ""})
    assert (hidden.scores, hidden.gold) == ((0.0, 0.0), None)


def test_numbered_scores_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    row = {
        "id": "a",
        "gold": "C",
        "scores": "",
        "score_10": 10,
        "score_2": 2,
        "score_x": "note",
        "score_1": 1,
    }
    assert read(tmp_path, row)[0].scores == (1.0, 2.0, 10.0)
    assert read(tmp_path, row | {"score_3": "", "score_4": None})[0].scores == (1.0, 2.0, 10.0)
    assert read(tmp_path, row | {"scores": "[3, 1, 2]"})[0].scores == (3.0, 1.0, 2.0)
    assert "score_x" not in read(tmp_path, row)[0].attributes
    for odd in ("[1, 2", "[" * 100_000):
        with pytest.raises(FiglangError, match="row 1 has no list of two finite scores"):
            read(tmp_path, row | {"scores": odd})


def test_a_gold_that_is_no_option_of_its_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="row 1: gold is 2; write the number of an option from 0"):
        read(tmp_path, {"id": "a", "gold": 2, "scores": [0.5, 0.1]})


def test_the_column_of_ids_may_be_another_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("key,gold,choice,genre\na,0,1,news\nb,1,1,\n")
    rows = columns.table(path, "key")
    assert [(row.id, row.attributes) for row in rows] == [("a", {"genre": ("news",)}), ("b", {})]
    (own,) = read(
        tmp_path, {"id": "x", "gold": 0, "choice": 0, "genre": "a", "attributes": {"genre": ["b", 1]}}
    )
    assert own.attributes == {"genre": ("b", "1")}, "what is called an attribute counts"


def test_an_item_without_a_cluster_is_its_own(tmp_path: Path) -> None:
    given = [{"group": "b"}, {"group": ""}, {"group": None}, {}]
    rows = [{"id": name, "gold": 0, "choice": 0} | group for name, group in zip("abcd", given, strict=True)]
    groups = [row.group for row in read(tmp_path, *rows)]
    assert (groups[0], groups[2:]) == ("b", ["c", "d"])
    assert groups[1] != "b", "the first item's group is called like the second item"


def test_what_is_of_figlang_is_not_of_another_tool(tmp_path: Path) -> None:
    (tmp_path / "run" / "judged").mkdir(parents=True)
    (tmp_path / "run" / "metrics.json").write_text("{}")
    row = json.dumps({"id": "a", "gold": 0, "choice": 0})
    for name, other in (("run/a.jsonl", False), ("run/judged/a.jsonl", False), ("a.jsonl", True)):
        (tmp_path / name).write_text(row)
        assert opening.foreign(tmp_path / name) is other
    for text in ("", "[1]", json.dumps({"id": "a", "group": "g", "scores": [1, 2]})):
        (tmp_path / "a.jsonl").write_text(text)
        assert not opening.foreign(tmp_path / "a.jsonl")
    (tmp_path / "a.csv").write_text("id,gold,choice\n")
    with pytest.raises(FiglangError, match=r"a\.csv has no results in it; give another file"):
        opening.read(tmp_path / "a.csv", None)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.0, 0.0, 1.0), "the choice of item a is number 2, and it has 2 options"),
        ((0.5, 0.0, 0.0), "item a has 3 scores, and 2 options"),
        ((1.0, 1.0, 0.0), "item a has 3 scores, and 2 options"),
    ],
)
def test_results_on_other_options_are_refused(values: tuple[float, ...], said: str) -> None:
    known = {"a": Prediction("a", "g", 0, (0.1, 0.2), {}, True)}
    with pytest.raises(FiglangError, match=said):
        opening.adopted([Prediction("a", "a", 0, values)], known, "here")
    (fitted,) = opening.adopted([Prediction("a", "a", 0, (0.0, 1.0, 0.0))], known, "here")
    assert (fitted.scores, fitted.group, fitted.paired) == ((0.0, 1.0), "g", True)


def test_documents_of_the_harness_have_their_options_in_order(tmp_path: Path) -> None:
    path = tmp_path / "org__name" / "samples_mine.jsonl"
    path.parent.mkdir()
    replies = [[float(-place), False] for place in range(11)]
    asked = {f"gen_args_{place}": {"arg_0": "c", "arg_1": f" o{place}"} for place in (10, *range(10))}
    row = {"doc_id": 0, "doc": {}, "target": "o10", "filtered_resps": replies, "arguments": asked}

    def gold(**changed: Any) -> int | None:
        path.write_text(json.dumps(row | changed) + "\n")
        return harness.read(path, None)[0].gold

    assert gold() == 10
    assert gold(target="3") == 3
    with pytest.raises(FiglangError, match="line 1: the target '11' is not one of its 11 options"):
        gold(target="11")
    with pytest.raises(FiglangError, match="line 1 is not of a multiple-choice task"):
        gold(arguments=[["c", "o"]] * 10 + [["c"]])
