"""Flagged items are those that a blind guesser gets right in all of its looks."""

import pytest

from figlang.creation import checks
from figlang.creation.checks import Look
from figlang.creation.drafts import Drafts
from figlang.statistics.common import Answered
from figlang.types import Item, Prediction
from tests.creation.test_guessing import leaky


def checked(items: list[Item]) -> checks.Checked:
    return checks.items(Drafts(tuple(items), (), 0, ""), 0.9)


def looking(items: list[Item], right: list[set[str]], guesser: str = "m") -> list[Look]:
    """Looks in which a guesser is right on some items."""
    return [
        Look(
            guesser,
            str(number),
            [
                Prediction.of(item, (1.0, 0.0) if (item.id in some) == (item.gold == 0) else (0.0, 1.0))
                for item in items
            ],
        )
        for number, some in enumerate(right)
    ]


PAIRS = [Item(f"{g}{n}", g, f"{g} {n} context", (f"{g} one", f"{g} two"), n) for g in "abc" for n in (0, 1)]


def test_flagged_items_are_those_that_a_guesser_gets_right_in_every_look() -> None:
    looks = looking(PAIRS, [{"a0", "a1", "b0"}, {"a0", "a1", "b0", "c1"}, {"a0", "a1", "b0", "b1"}])
    assert set(checks.blind(checked(PAIRS), looks, "all").flagged) == {"a0", "a1", "b0"}


def test_looks_of_two_guessers_are_not_mixed() -> None:
    looks = [*looking(PAIRS, [{"a0"}, {"a0", "b0"}], "one"), *looking(PAIRS, [{"b0"}], "two")]
    assert checks.solved(looks) == {"a0": ("one",), "b0": ("two",)}


def test_a_tie_is_not_right() -> None:
    assert not checks.solved([Look("m", "0", [Prediction.of(item, (0.5, 0.5)) for item in PAIRS])])


@pytest.mark.parametrize(("keep", "groups"), [("all", "abc"), ("hard", "bc"), ("hardest", "c")])
def test_flagged_items_are_dropped_with_their_group(keep: str, groups: str) -> None:
    found = checks.blind(checked(PAIRS), looking(PAIRS, [{"a0", "a1", "b0"}]), keep)
    assert {item.group for item in found.kept} == set(groups)
    assert len(found.kept) == 2 * len(groups)
    assert len(found.kept) + len(found.dropped) == len(PAIRS)
    assert all(reason for _, reason in found.dropped)


def test_the_learner_flags_what_options_give_away_and_no_more() -> None:
    items = leaky(80)
    found = checked(items)
    hard = checks.blind(found, checks.learner(found, 10), "hard")
    assert set(hard.flagged) == {item.id for place, item in enumerate(items) if place % 4}
    assert {item.id for item in hard.kept} == {item.id for place, item in enumerate(items) if not place % 4}


def test_people_who_do_not_choose_the_writers_option_drop_a_pair() -> None:
    choices = {"a0": [Answered(0, "x"), Answered(0, "y")], "b1": [Answered(0, "x"), Answered(0, "y")]}
    choices["c0"] = [Answered(0, "x"), Answered(1, "y")]
    found = checks.items(Drafts(tuple(PAIRS), (), 0, ""), 0.9, (), choices, 0.5)
    assert {item.group for item in found.kept} == {"a", "c"}
    assert {item.id: reason for item, reason in found.dropped} == {
        "b1": "people: 0 of 2 people chose the writer's option",
        "b0": "with b1 (people: 0 of 2 people chose the writer's option)",
    }
