"""The page about what is left on Fig-QA (docs/making/difficulty.py)."""

from collections import Counter

import pytest

from docs.making import difficulty, measured

JUDGEMENTS = {"world", "culture", "irony", "ambiguous", "plain"}


def test_every_item_that_all_systems_miss_is_judged() -> None:
    notes = {row["item"]: row["judgement"] for row in measured.read("figqa_difficulty")}
    assert {item.item for item in difficulty.hardest()} == set(notes)
    assert set(notes.values()) <= JUDGEMENTS


def test_items_are_counted_by_system() -> None:
    items, systems = difficulty.items(), difficulty.systems()
    assert len(systems) > 1
    found = Counter(len(item.systems) for item in items)
    assert found.total() == len(items) == 1094
    assert found[len(systems)] == len(difficulty.hardest())
    for number, count in found.items():
        assert f"| {number} of {len(systems)} | {count} |" in difficulty.counts()


@pytest.mark.parametrize("part", sorted(difficulty.PARTS))
def test_each_part_is_on_the_page(part: str) -> None:
    page = (measured.RESULTS / "difficulty.md").read_text(encoding="utf-8")
    assert f"{{{{ difficulty {part} }}}}" in page
    assert difficulty.difficulty(part)
