"""Do systems, or a system and people, fail on the same items? (Liu et al. 2022, §6.3)"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_csv
from figlang.statistics.correlation import Correlation, pearson, pearsons
from figlang.types import Prediction

Wrong = Mapping[str, bool]  # by item id: whether it was got wrong


@dataclass(frozen=True)
class Common:
    """Errors on the `n` items that two have both answered. `expected` is how many they would share if theirs
    were independent."""

    n: int
    first: int
    second: int
    shared: tuple[str, ...]
    correlation: Correlation | None

    @property
    def expected(self) -> float:
        return self.first * self.second / self.n


def wrong(predictions: Sequence[Prediction]) -> dict[str, bool]:
    """Which of the labelled items a system has wrong; a tie is wrong."""
    return {row.id: not row.correct for row in predictions if row.gold is not None}


def in_common(one: Wrong, other: Wrong, groups: Mapping[str, str]) -> Common | None:
    """Errors that two share, with the phi coefficient of their errors; its interval takes `groups` (by item
    id) as independent.

    None if no item was answered by both.
    """
    both = [name for name in one if name in other]
    if not both:
        return None
    x, y = [float(one[name]) for name in both], [float(other[name]) for name in both]
    shared = tuple(name for name in both if one[name] and other[name])
    found = pearson(x, y, [groups[name] for name in both])
    return Common(len(both), int(sum(x)), int(sum(y)), shared, found)


def every_two(missed: Mapping[str, Wrong], groups: Mapping[str, str]) -> Iterator[tuple[str, str, Common]]:
    """`in_common` of every two by their names, for many that have answered the same items."""
    names = list(missed)
    ids = list(missed[names[0]]) if names else []
    if not ids:
        return
    if any(each.keys() != missed[names[0]].keys() for each in missed.values()):
        raise ValueError("not of the same items")
    ids_N, wrong_SN = (
        np.array(ids, dtype=object),
        np.array([[missed[name][one] for one in ids] for name in names], dtype=bool),
    )
    errors_S, groups_N = wrong_SN.sum(1), [groups[one] for one in ids]
    for place, name in enumerate(names):
        others_BN = wrong_SN[place + 1 :]
        correlations = pearsons(wrong_SN[place].astype(float), others_BN.astype(float), groups_N)
        for other, (other_N, correlation) in enumerate(zip(others_BN, correlations, strict=True), place + 1):
            shared = tuple(ids_N[wrong_SN[place] & other_N])
            yield (
                name,
                names[other],
                Common(len(ids), int(errors_S[place]), int(errors_S[other]), shared, correlation),
            )


def people(path: Path) -> dict[str, int | None]:
    """What people chose, by item id: the place of the option, from 0, that most of them chose; None for a
    tie.

    The file has the columns `id` and `choice`, a row for each answer of a person. A choice is the number of
    an option, from 1; a blank one is not an answer.

    Raises FiglangError that names the row that cannot be read.
    """
    problems = Problems(path, strict=False)
    chosen: dict[str, Counter[int]] = {}
    for number, row in read_csv(path, ("id", "choice"), problems):
        name, choice = row["id"].strip(), row["choice"].strip()
        if not choice:
            continue
        if not choice.isdecimal() or int(choice) < 1:
            raise FiglangError(
                f"{path}: row {number} has the choice {choice!r}; give the number of an option, from 1"
            )
        chosen.setdefault(name, Counter())[int(choice) - 1] += 1
    if not chosen:
        raise FiglangError(f"{path} has no answer; fill in the column choice")
    found: dict[str, int | None] = {}
    for name, counts in chosen.items():
        (first, most), *rest = counts.most_common(2)
        found[name] = None if rest and rest[0][1] == most else first
    return found


def wrong_of_people(choices: Mapping[str, int | None], predictions: Sequence[Prediction]) -> dict[str, bool]:
    """Which of the items that people answered they have wrong, by the labels of a system's predictions."""
    gold = {row.id: row.gold for row in predictions if row.gold is not None}
    return {name: choice != gold[name] for name, choice in choices.items() if name in gold}
