"""Rows that repeat others, in Fig-QA's form: in another order, in other spaces, in another case."""

from pathlib import Path

import pytest

from figlang.tasks.figqa import reading as figqa
from figlang.tasks.twins import near_duplicates
from figlang.types import Item, Split
from tests.tasks.figqa.test_reading import HEADER, OTHER, PAIR, groups, write

# Pairs whose endings stand in another order


def test_the_endings_of_a_pair_stand_in_one_order(tmp_path: Path) -> None:
    """Or "the same answer twice" would be counted where a model gives two answers."""
    split = figqa.read(write(tmp_path, HEADER + "a,x,y,0\nb,y,x,0\n"))
    assert [(item.options, item.gold) for item in split.items] == [(("x", "y"), 0), (("x", "y"), 1)]
    (note,) = split.notes
    assert note.startswith("mine.csv row 2: has the endings of its partner, row 1, in the other order")


def test_hidden_rows_keep_the_order_of_the_file_until_their_labels_are_known(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + "a,x,y,-1\nb,y,x,-1\n", "test.csv"))
    assert [item.options for item in split.items] == [("x", "y"), ("y", "x")]
    labelled = figqa.with_labels(split, write(tmp_path, "labels\n0\n0\n", "labels.csv"))
    assert [(item.options, item.gold) for item in labelled.items] == [(("x", "y"), 0), (("x", "y"), 1)]


# Rows that repeat others


AGAIN = "Her word was  titanium.,It breaks.,It holds.,1\n"  # row 1 in other spaces, its endings swapped


def test_repeated_rows_are_counted_and_left_out(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + PAIR + AGAIN + PAIR + OTHER), distinct=True)
    assert groups(split) == [["mine-1", "mine-2"], ["mine-6", "mine-7"]]
    assert split.notes == (
        "mine.csv: 3 rows repeat an earlier row (row 3 repeats row 1), left out (data.drop_duplicates=false "
        "keeps them)",
    )


def test_a_repeated_row_stands_between_no_pair(tmp_path: Path) -> None:
    first, second = PAIR.splitlines(keepends=True)
    assert groups(figqa.read(write(tmp_path, HEADER + first + first + second), distinct=True)) == [
        ["mine-1", "mine-3"]
    ]


def test_repeated_rows_are_kept_and_counted_by_the_switch(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + PAIR + PAIR), distinct=False)
    assert groups(split) == [["mine-1", "mine-2"], ["mine-3", "mine-4"]]
    assert split.notes == ("mine.csv: 2 rows repeat an earlier row (row 3 repeats row 1), kept",)


def test_repeated_hidden_rows_are_kept_since_labels_go_by_rows(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + "a,x,y,-1\na,x,y,-1\n"), distinct=True)
    assert len(figqa.with_labels(split, write(tmp_path, "labels\n0\n0\n", "labels.csv")).items) == 2


def test_rows_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    split = figqa.read(
        write(tmp_path, HEADER + PAIR + "Her word was titanium.,It holds.,It breaks.,1\n"), distinct=True
    )
    assert len(split.items) == 3
    assert split.notes[0].startswith(
        "mine.csv row 3: says the opposite of row 1 about the same text and endings, kept; correct"
    )


# Near-duplicates


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("The night was ink", "The night was ink", True),
        ("The night was ink.", "the Night was ink", True),
        ("The night was ink...", "The night was ink .", True),
        ("The night was ink", "The night was like ink", False),
        ("The  night was\u00a0ink", "The night was ink", True),
        ("The caf\u00e9 was ink", "The cafe\u0301 was ink", True),
    ],
)
def test_case_and_final_periods_aside_the_same_metaphor_is_a_near_duplicate(
    ours: str, theirs: str, same: bool
) -> None:
    def split(text: str, name: str) -> Split:
        return Split(name, (Item(f"{name}-1", f"{name}-1", text, ("x", "y"), 0),), name, "")

    train, dev = split(ours, "train"), split(theirs, "dev")
    assert near_duplicates(train, dev) == ({"train-1": "dev-1"} if same else {})
