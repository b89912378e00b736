"""The learner finds what options alone give away, and nothing else."""

import random

from figlang.creation import guessing
from figlang.types import Item


def leaky(count: int, seed: int = 0) -> list[Item]:
    """Single items whose right option says `really`, for all but every fourth."""
    dice = random.Random(seed)
    items = []
    for number in range(count):
        right, wrong = f"It is really so{number}.", f"It is not so{number}."
        if number % 4 == 0:
            right, wrong = wrong, right
        gold = dice.randrange(2)
        options = (right, wrong) if gold == 0 else (wrong, right)
        items.append(Item(f"i{number}", f"g{number}", f"context {number}", options, gold))
    return items


def test_a_word_that_gives_the_answer_away_is_learnt() -> None:
    items = leaky(80)
    for seed in range(3):
        right = {row.id for row in guessing.guess(items, [], seed) if row.correct}
        assert right == {item.id for place, item in enumerate(items) if place % 4}


def test_pairs_that_swap_teach_nothing() -> None:
    items = [
        Item(f"{n}", f"g{n // 2}", f"c{n}", ("It is really so.", "It is not."), n % 2) for n in range(60)
    ]
    assert all(row.choice is None for row in guessing.guess(items, [], 0))


def test_nothing_is_learnt_from_a_group_or_a_near_duplicate() -> None:
    one = Item("a", "a", "c", ("only here", "never there"), 0)
    other = Item("b", "b", "c", ("only here", "never there"), 0)
    rest = [Item(f"{n}", f"g{n}", f"c{n}", (f"x{n}", f"y{n}"), 0) for n in range(30)]
    joined = guessing.guess([one, other, *rest], [("a", "b", 1.0)], 0)
    assert {row.id: row.choice for row in joined}["a"] is None
    apart = [guessing.guess([one, other, *rest], [], seed) for seed in range(6)]
    assert any(rows[0].choice == 0 for rows in apart)  # without the mark it is learnt


def test_a_seed_repeats() -> None:
    items = leaky(30)
    assert guessing.guess(items, [], 4) == guessing.guess(items, [], 4)
