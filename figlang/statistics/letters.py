"""Letters for groups of systems.

Two systems share a letter if, and only if, no difference was found between them. A group is a clique: no two
of its systems differ. Groups are grown greedily: while two systems that do not differ share no group, they
start a new one. Finding the smallest number of groups would take exponential time.
"""

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt


def letters(apart: npt.ArrayLike, order: Sequence[int]) -> list[str]:
    """The letters of each system, by its place.

    Args:
        apart: Whether two systems differ, (N, N), symmetric.
        order: Places from the best system to the last. The first group has the letter a.

    Returns:
        For example `a`, `ab` and `b`: the first and the last differ, and the second differs from neither.
            Three or more letters in a row are written as `b–f`. Letters after z are aa, ab, and so on.
    """
    alike = ~np.asarray(apart, bool)[np.ix_(order, order)]
    shared, count = np.eye(len(order), dtype=bool), 0
    members: list[list[int]] = [[] for _ in order]
    for first in range(len(order)):
        for second in first + 1 + np.flatnonzero(alike[first, first + 1 :]):
            if shared[first, second]:
                continue
            group = _grown(alike, [first, int(second)])
            shared[np.ix_(group, group)] = True
            for rank in group:
                members[rank].append(count)
            count += 1
        if not members[first]:
            members[first].append(count)
            count += 1
    by_place = dict(zip(order, members, strict=True))
    return [_written(by_place[place]) for place in range(len(order))]


def _grown(alike: npt.NDArray[np.bool_], pair: list[int]) -> list[int]:
    group = list(pair)
    free: npt.NDArray[np.bool_] = alike[pair[0]] & alike[pair[1]]
    free[pair] = False
    while free.any():
        group.append(int(np.argmax(free)))
        free &= alike[group[-1]]
        free[group[-1]] = False
    return sorted(group)


def _written(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    separated = any(number >= len(ascii_lowercase) for number in numbers)
    between = " " if separated or any(len(run) > 2 for run in runs) else ""
    return between.join(
        f"{_letter(run[0])}–{_letter(run[-1])}" if len(run) > 2 else between.join(map(_letter, run))
        for run in runs
    )


def _letter(number: int) -> str:
    more, place = divmod(number, len(ascii_lowercase))
    return (_letter(more - 1) if more else "") + ascii_lowercase[place]
