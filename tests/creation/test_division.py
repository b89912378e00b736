"""Splits without leaks: whatever the file, no pair and no near-duplicates are in two splits."""

import random

import pytest

from figlang.creation import alike, division
from figlang.types import Item

SHARES = {"validation": 0.2, "test": 0.2, "train": 0.6}


def drawn(seed: int, groups: int = 60) -> list[Item]:
    """Items of groups of one to three, some of which share most of their words."""
    dice = random.Random(seed)
    items = []
    for group in range(groups):
        like = dice.choice([group, max(0, group - 1), group // 4])
        for place in range(dice.randint(1, 3)):
            words = [f"w{like}{letter}" for letter in "abcdefgh"]
            words[dice.randrange(8)] = f"x{group}{place}"
            items.append(Item(f"{group}-{place}", f"g{group}", " ".join(words), ("a", "b"), 0))
    return items


@pytest.mark.parametrize("seed", range(8))
def test_nothing_leaks_between_splits(seed: int) -> None:
    items = drawn(seed)
    splits = division.divide(items, alike.within(items, 0.7), SHARES, seed)
    assert sorted(item.id for some in splits.values() for item in some) == sorted(item.id for item in items)
    for name, some in splits.items():
        others = [item for other, rest in splits.items() if other != name for item in rest]
        assert not {item.group for item in some} & {item.group for item in others}
        for one in some:
            mine = set(one.context.split())
            for other in others:  # by the definition, not by the index
                theirs = set(other.context.split())
                assert len(mine & theirs) / len(mine | theirs) < 0.7


def test_a_seed_repeats_and_another_differs() -> None:
    items = drawn(0)
    first, again, other = (division.divide(items, [], SHARES, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_splits_have_about_their_shares() -> None:
    items = [Item(f"{n}", f"g{n // 2}", f"c{n}", ("a", "b"), n % 2) for n in range(400)]
    splits = division.divide(items, [], SHARES, 0)
    assert {name: len(some) for name, some in splits.items()} == {"validation": 80, "test": 80, "train": 240}


@pytest.mark.parametrize(("groups", "names"), [(1, {"validation"}), (2, {"validation", "test"})])
def test_few_groups_go_to_what_an_evaluation_needs_first(groups: int, names: set[str]) -> None:
    items = [Item(f"{n}", f"g{n}", f"c{n}", ("a", "b"), 0) for n in range(groups)]
    assert set(division.divide(items, [], SHARES, 0)) == names
