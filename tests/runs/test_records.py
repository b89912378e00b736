"""Items and predictions from dictionaries: edges of what is read, and what attributes may be called."""

from typing import Any

import pandas
import pytest

from figlang.errors import FiglangError
from figlang.runs.records import attributes, of_item, of_prediction, read_items, read_predictions
from figlang.types import Item, Marked, Prediction

ROW: dict[str, Any] = {"context": "He is a shark", "options": ["He is greedy", "He is kind"]}


def test_an_attribute_that_is_called_like_a_field_does_not_replace_it() -> None:
    named = {"id": ("x",), "gold": ("5",), "kind": ("a", "b")}
    assert of_item(Item("i", "g", "c", ("a", "b"), 1, named))["id"] == "i"
    written = of_prediction(Prediction("i", "g", 1, (0.0, 1.0), named))
    assert (written["id"], written["gold"], written["kind"]) == ("i", 1, ["a", "b"])


def test_an_attribute_without_a_value_is_none() -> None:
    row = {"a": None, "b": [], "c": float("nan"), "d": pandas.NA, "e": pandas.NaT, "f": 0, "g": ["x", 2]}
    assert attributes(row, ()) == {"f": ("0",), "g": ("x", "2")}
    assert attributes(row, ("f",)) == {"g": ("x", "2")}


def test_an_item_alone_in_its_group_may_have_a_twin_elsewhere() -> None:
    (alone,) = read_items([ROW])
    assert (alone.paired, alone.group) == (True, "0")


def test_a_group_that_is_not_a_pair_may_have_items_of_any_width() -> None:
    group = {"group": "g", "paired": False}
    wide = {**ROW, "options": ["a", "b", "c"], **group}
    assert [item.paired for item in read_items([{**ROW, **group}, wide])] == [False, False]
    with pytest.raises(FiglangError, match="record 1 has 3 options, but its group g has 2"):
        read_items([{**ROW, "group": "g", "paired": True}, {**wide, "paired": True}])


def test_a_record_without_a_group_does_not_take_its_name_from_those_without_one() -> None:
    first, second = read_items([{**ROW, "id": "None"}, {**ROW, "id": "other", "group": None}])
    assert (first.group, second.group) == ("None", "other")


@pytest.mark.parametrize(
    ("target", "fits"), [([0, 13], True), ([8, 13], True), ([8, 14], False), ([9, 8], False)]
)
def test_a_target_is_a_place_in_its_context(target: list[int], fits: bool) -> None:
    row = {**ROW, "target": target}
    if not fits:
        with pytest.raises(FiglangError, match="is not a place in its context of 13 letters"):
            read_items([row])
        return
    (item,) = read_items([row])
    assert isinstance(item, Marked)
    assert (item.target, item.paired, item.blank) == (tuple(target), False, False)


@pytest.mark.parametrize("gold", [True, "1", 2, -1, 0.5])
def test_a_gold_that_is_not_a_place_is_refused(gold: Any) -> None:
    with pytest.raises(FiglangError, match="is not a place among 2 options; give 0 to 1"):
        read_items([{**ROW, "gold": gold}])


def test_an_empty_list_of_scores_is_refused() -> None:
    with pytest.raises(FiglangError, match="record 0: scores must be a list"):
        read_predictions([{"id": "a", "scores": []}])
