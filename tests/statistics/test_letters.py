"""Laws of figlang/statistics/letters.py: two systems share a letter if, and only if, they do not differ."""

import re

import numpy as np
import numpy.typing as npt
import pytest

from figlang.statistics import letters as module
from figlang.statistics.letters import letters


def matrix(n: int, apart: list[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    found = np.zeros((n, n), bool)
    for one, other in apart:
        found[one, other] = found[other, one] = True
    return found


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([], ["a", "a", "a"]),
        ([(0, 2)], ["a", "ab", "b"]),
        ([(0, 1), (0, 2), (1, 2)], ["a", "b", "c"]),
        ([(0, 1), (0, 2)], ["a", "b", "b"]),
    ],
)
def test_by_hand(apart: list[tuple[int, int]], expected: list[str]) -> None:
    assert letters(matrix(3, apart), [0, 1, 2]) == expected


def test_the_best_has_the_first_letter_wherever_it_stands() -> None:
    assert letters(matrix(3, [(0, 2), (0, 1), (1, 2)]), [2, 0, 1]) == ["b", "c", "a"]


def numbers(written: str) -> set[int]:
    def value(letter: str) -> int:
        return sum((ord(char) - 96) * 26**place for place, char in enumerate(reversed(letter))) - 1

    parts = written.split() if " " in written or "–" in written else list(written)
    found: set[int] = set()
    for part in parts:
        ends = [value(each) for each in re.split("–", part)]
        found |= set(range(ends[0], ends[-1] + 1))
    return found


@pytest.mark.parametrize("n", [2, 9, 20])
@pytest.mark.parametrize("seed", range(3))
def test_systems_share_a_letter_only_if_they_do_not_differ(n: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    skill = np.sort(draw.normal(size=n))[::-1]
    apart = np.abs(skill[:, None] - skill + 0.3 * draw.normal(size=(n, n))) > 1
    apart = np.triu(apart, 1) | np.triu(apart, 1).T
    found = [numbers(each) for each in letters(apart, list(range(n)))]
    for one in range(n):
        for other in range(one):
            assert bool(found[one] & found[other]) != apart[one, other]


def test_no_group_is_searched_for_a_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 systems can have thousands of groups, so a search of each group for each system takes seconds."""
    searched: list[object] = []

    class Group(list[int]):
        def __contains__(self, one: object) -> bool:
            searched.append(one)
            return super().__contains__(one)

    grown = module._grown
    monkeypatch.setattr(module, "_grown", lambda alike, pair: Group(grown(alike, pair)))
    assert letters(matrix(4, [(0, 2), (0, 3), (1, 3)]), [0, 1, 2, 3]) == ["a", "ab", "bc", "c"]
    assert not searched
