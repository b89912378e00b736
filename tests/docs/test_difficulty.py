"""The page about what is left on Fig-QA (docs/making/difficulty.py)."""

from collections import Counter

import pytest

from docs.making import difficulty, measured

JUDGEMENTS = {"world", "culture", "irony", "ambiguous", "plain"}


def test_every_item_that_all_systems_miss_is_judged() -> None:
    notes = {row["item"]: row["judgement"] for row in measured.read("figqa_difficulty")}
    assert {item.item for item in difficulty.hardest()} == set(notes)
    assert set(notes.values()) <= JUDGEMENTS


def test_the_judged_sample_is_the_one_that_was_drawn() -> None:
    rows = measured.read("figqa_difficulty_sample")
    drawn = [(item.item, str(len(item.systems))) for item in difficulty.sampled()]
    assert [(row["item"], row["missed by"]) for row in rows] == drawn
    assert {row["judgement"] for row in rows} <= JUDGEMENTS


def test_the_page_says_how_many_checkpoints_it_counts() -> None:
    page = (measured.RESULTS / "difficulty.md").read_text(encoding="utf-8")
    assert (len(difficulty.systems()), len(list(difficulty.CHECKPOINTS.glob("*/metrics.json")))) == (8, 11)
    assert "Eight of the eleven checkpoints are counted." in page


def test_items_are_counted_by_system() -> None:
    items, systems = difficulty.items(), difficulty.systems()
    assert len(systems) > 1
    found = Counter(len(item.systems) for item in items)
    assert found.total() == len(items) == 1094
    assert found[len(systems)] == len(difficulty.hardest())
    for number, count in found.items():
        assert f"| {number} of {len(systems)} | {count} |" in difficulty.counts()


def test_a_draw_says_how_many_of_all_there_are() -> None:
    assert difficulty.among(64, 12, 2) == (2, 29)  # not 1: two were found
    assert difficulty.among(12, 12, 2) == (2, 2)  # all were drawn
    assert difficulty.among(10, 3, 0)[0] == 0


def test_a_pair_that_all_systems_miss_is_counted_once() -> None:
    lost = [item.group for item in difficulty.hardest()]
    assert (len(lost), len(set(lost))) == (28, 27)
    assert "miss both items of 1 pair," in difficulty.twins()


@pytest.mark.parametrize("part", sorted(difficulty.PARTS))
def test_each_part_is_on_the_page(part: str) -> None:
    page = (measured.RESULTS / "difficulty.md").read_text(encoding="utf-8")
    assert f"{{{{ difficulty {part} }}}}" in page
    assert difficulty.difficulty(part)
