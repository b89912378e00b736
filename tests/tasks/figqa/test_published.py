"""The published Fig-QA files: counts recomputed from them, their defects, and what leaks from one into
another."""

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.twins import near_duplicates
from figlang.types import Split
from tests.tasks.figqa.test_reading import groups


@cache
def published(root: str, split: str, size: str = "medium") -> Split:
    return figqa.load(split, size, root, "")


SPLITS = {
    "train_small": ("train", "small"),
    "train_medium": ("train", "medium"),
    "train_large": ("train", "large"),
    "validation": ("validation", "medium"),
    "test": ("test", "medium"),
}


@pytest.mark.parametrize(
    ("name", "rows", "pairs", "singles"),
    [
        ("train_small", 200, 100, 0),
        ("train_medium", 1458, 729, 0),
        ("train_large", 8016, 4007, 2),
        ("validation", 1094, 547, 0),
        ("test", 1146, 573, 0),
    ],
)
def test_published_rows_and_pairs(figqa_root: str, name: str, rows: int, pairs: int, singles: int) -> None:
    split = published(figqa_root, *SPLITS[name])
    sizes = Counter(map(len, groups(split)))
    assert len(split.items) == rows
    assert sizes == Counter({2: pairs, 1: singles})


@pytest.mark.parametrize("name", SPLITS)
def test_published_files_are_the_pinned_ones(figqa_root: str, name: str) -> None:
    assert published(figqa_root, *SPLITS[name]).sha256 == figqa.FILES[name][1]


@pytest.mark.parametrize("name", SPLITS)
def test_published_ids_are_unique_and_groups_are_neighbours(figqa_root: str, name: str) -> None:
    items = published(figqa_root, *SPLITS[name]).items
    assert len({item.id for item in items}) == len(items)
    runs = 1 + sum(a.group != b.group for a, b in pairwise(items))
    assert runs == len({item.group for item in items})


@pytest.mark.parametrize("name", ["train_small", "train_medium", "validation"])
def test_published_labels_alternate(figqa_root: str, name: str) -> None:
    items = published(figqa_root, *SPLITS[name]).items
    assert all(item.gold == position % 2 for position, item in enumerate(items))


@pytest.mark.parametrize("name", ["train_small", "train_medium", "train_large", "validation"])
def test_the_answer_flips_within_every_published_pair(figqa_root: str, name: str) -> None:
    golds: dict[str, set[int | None]] = {}
    items = published(figqa_root, *SPLITS[name]).items
    sizes = Counter(item.group for item in items)
    for item in items:
        golds.setdefault(item.group, set()).add(item.gold)
    assert all(found == {0, 1} for group, found in golds.items() if sizes[group] == 2)


def test_published_test_labels_are_hidden(figqa_root: str) -> None:
    assert {item.gold for item in published(figqa_root, "test").items} == {None}


@pytest.mark.parametrize("name", ["train_small", "train_medium", "validation"])
def test_published_files_without_defects_have_no_notes(figqa_root: str, name: str) -> None:
    assert published(figqa_root, *SPLITS[name]).notes == ()


def _noted(split: Split, what: str) -> list[str]:
    """The ids of the rows of a note."""
    (note,) = [note for note in split.notes if what in note]
    return [f"train_xl-{row}" for row in re.findall(r"\d+", note.partition(":")[0])]


def test_the_large_training_file_has_eight_noted_rows_with_equal_endings(figqa_root: str) -> None:
    split = published(figqa_root, "train", "large")
    equal = [item.id for item in split.items if item.options[0] == item.options[1]]
    assert len(equal) == 8
    assert _noted(split, "endings are equal") == equal


def test_the_two_orphans_of_the_large_training_file_are_kept_and_noted(figqa_root: str) -> None:
    split = published(figqa_root, "train", "large")
    orphans = [members[0] for members in groups(split) if len(members) == 1]
    assert _noted(split, "no partner") == orphans


def test_strict_takes_the_published_files_with_their_known_defects_but_no_changed_copy(
    figqa_root: str, tmp_path: Path
) -> None:
    assert len(figqa.load("train", "large", figqa_root, str(tmp_path), strict=True).items) == 8016
    copy = tmp_path / "figqa" / "filtered" / "train_xl.csv"
    copy.parent.mkdir(parents=True)
    copy.write_bytes((Path(figqa_root) / "figqa" / "filtered" / "train_xl.csv").read_bytes() + b"\n")
    with pytest.raises(FiglangError, match=r"train_xl\.csv row 1749: its two endings are equal"):
        figqa.load("train", "large", str(tmp_path), str(tmp_path), strict=True)


@pytest.mark.parametrize(
    ("category", "count"), [("objects", 792), ("visual", 136), ("social", 206), ("cultural", 183)]
)
def test_published_commonsense_counts(figqa_root: str, category: str, count: int) -> None:
    items = published(figqa_root, "validation").items
    assert sum(category in item.attributes["commonsense"] for item in items) == count


def test_published_commonsense_labels_per_item(figqa_root: str) -> None:
    items = published(figqa_root, "validation").items
    assert Counter(len(item.attributes["commonsense"]) for item in items) == {1: 878, 2: 209, 3: 7}


@pytest.mark.parametrize(
    ("size", "other", "count"),
    [
        ("medium", "validation", 2),
        ("medium", "test", 1),
        ("large", "validation", 2),
        ("large", "test", 2),
        ("small", "test", 0),
    ],
)
def test_published_metaphors_that_leak_into_an_evaluation_split(
    figqa_root: str, size: str, other: str, count: int
) -> None:
    assert len(near_duplicates(published(figqa_root, "train", size), published(figqa_root, other))) == count


def test_published_dev_and_test_share_a_metaphor(figqa_root: str) -> None:
    assert len(near_duplicates(published(figqa_root, "validation"), published(figqa_root, "test"))) == 1


def test_published_dev_holds_one_metaphor_twice(figqa_root: str) -> None:
    folded = Counter(item.context.lower().rstrip(" .") for item in published(figqa_root, "validation").items)
    assert sorted(folded.values())[-2:] == [1, 2]


def test_the_small_training_file_is_inside_the_large_one(figqa_root: str) -> None:
    def rows(size: str) -> set[tuple[str, ...]]:
        return {(item.context, *item.options) for item in published(figqa_root, "train", size).items}

    small = rows("small")
    assert small <= rows("large")
    assert len(small & rows("medium")) == 40
