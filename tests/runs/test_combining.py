"""Which results may be combined, and with which held-out items: each rule by hand."""

import logging
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.runs import combining
from figlang.runs.combining import Member
from figlang.runs.predictions import FORWARD
from figlang.types import Prediction


def rows(count: int, first: int = 0, group: str = "g", gold: int = 0) -> list[Prediction]:
    """Items of two to a group."""
    return [
        Prediction(f"i{number}", f"{group}{number // 2}", gold, (1.0, 0.0))
        for number in range(first, first + count)
    ]


def system(predictions: Sequence[Prediction], file: str | None = "f", name: str = "a", **facts: Any) -> Any:
    split = facts.pop("split", "validation")
    data = {} if file is None else {split: {"sha256": file}}
    content = {"model": name, "facts": facts, "split": split, "data": data, "data_name": "d", "task": "figqa"}
    return SimpleNamespace(folder=Path(name), predictions=predictions, content=content)


def test_results_of_one_file_share_items_and_groups() -> None:
    whole = system(rows(8))
    assert combining._shared(system(rows(4, 4)), whole) == "i4"
    assert combining._shared(system(rows(4, 8)), whole) is None
    half = system(rows(3)), system(rows(3, 3))  # the items 2 and 3 are a pair
    assert combining._shared(*half) is None
    assert combining._shared(*half, groups=True) == "i2"
    # An early version wrote no hash, so that equal ids are equal items and groups may be others.
    unknown = system(rows(3), None), system(rows(3, 3))
    assert combining._shared(*unknown, groups=True) is None
    assert combining._shared(system(rows(3), None), system(rows(3))) == "i0"


@pytest.mark.parametrize(("alike", "copy"), [(20, True), (18, True), (17, False), (0, False)])
def test_a_file_is_a_copy_if_nine_in_ten_items_are_in_both(alike: int, copy: bool) -> None:
    ours = system(rows(20), "aaaaaaaabb")
    for other in (rows(20 - alike, alike, gold=1), rows(20 - alike, alike, group="h")):
        theirs = system([*rows(alike), *other, *rows(30, 100)], "ccccccccdd")
        found = combining._shared(ours, theirs, groups=True)
        assert (found is not None) == copy
        assert not copy or found == (
            "i0 (in files of other bytes, aaaaaaaa and cccccccc, with the same ids and labels)"
        )


def test_held_out_results_of_unknown_weights_are_of_any_system() -> None:
    seeds = [system(rows(2), name=name, weights=name) for name in ("a", "b")]
    for weights in ("a", "of a fold"):
        combining._check_order(seeds[0], system(rows(2), weights=weights), seeds)
    nameless = [system(rows(2), name="a"), system(rows(2), name="b")]
    combining._check_order(seeds[0], system(rows(2)), [seeds[0], *nameless])
    with pytest.raises(FiglangError, match="fit=: held is of the system of b, not of a"):
        combining._check_order(seeds[0], system(rows(2), name="held", weights="b"), seeds)


@pytest.mark.parametrize(
    ("split", "trained", "warned"),
    [
        ("train", "figqa@abc", True),
        ("train", "nothing@none", False),
        ("validation", "figqa@abc", False),
    ],
)
def test_only_training_items_of_a_trained_system_are_warned_of(
    split: str, trained: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    one, held_out = system(rows(2)), system(rows(2), split=split, trained=trained)
    with caplog.at_level(logging.WARNING, "figlang"):
        combining._check_same(one, held_out)
    assert ("may have been trained on these items" in caplog.text) is warned


def test_a_combination_is_called_by_the_number_of_each_system() -> None:
    several = [Member(name, system(rows(2), name=name), name) for name in ("b", "a", "b")]
    assert combining._named(several) == "a + 2 b"


def test_systems_that_tell_nothing_have_no_weights() -> None:
    wrong = rows(4, gold=1)
    one = Member("a", system(wrong), "a", (system(wrong, name="held"),))
    with pytest.raises(FiglangError, match="held: no system tells right options from wrong ones"):
        combining.weights([one], [])
    assert combining.weights([one], [0.3]) == [0.3]
    assert combining.weights([Member("a", system(wrong), "a")] * 4, []) == [0.25] * 4


def test_results_on_items_of_other_widths_or_of_replies_are_refused(tmp_path: Path) -> None:
    def at(name: str, predictions: Sequence[Prediction], **content: Any) -> Any:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / FORWARD).touch()
        made = system(predictions, name=name)
        made.folder, made.name, made.blind = tmp_path / name, name, []
        made.content |= content
        return made

    wide = [Prediction(row.id, row.group, row.gold, (1.0, 0.0, 0.0)) for row in rows(2)]
    combining._check_items([at("a", wide), at("b", wide)])
    with pytest.raises(FiglangError, match=r"a and .*b are results on different items"):
        combining._check_items([at("a", wide), at("b", rows(2))])
    with pytest.raises(FiglangError, match="has replies and no scores of the options"):
        combining._check_items([at("a", wide, replies={})])
