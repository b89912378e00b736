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

Wrong = Mapping[str, bool]  # whether the answer is wrong, by item id
LEVELS = ("all", "most", "half or fewer", "none")  # how many raters of an item are right


@dataclass(frozen=True)
class Common:
    """Errors on the items that two systems both answered.

    Attributes:
        n: Number of these items.
        first: Errors of the first system.
        second: Errors of the second.
        shared: Ids of the items that both have wrong.
        correlation: Phi coefficient of their errors.
    """

    n: int
    first: int
    second: int
    shared: tuple[str, ...]
    correlation: Correlation | None

    @property
    def expected(self) -> float:
        """How many errors they would share if their errors were independent."""
        return self.first * self.second / self.n


def wrong(predictions: Sequence[Prediction]) -> dict[str, bool]:
    """Which labelled items a system has wrong; a tie is wrong."""
    return {row.id: not row.correct for row in predictions if row.gold is not None}


def in_common(one: Wrong, other: Wrong, groups: Mapping[str, str]) -> Common | None:
    """Errors that two systems share.

    Args:
        one: Errors of the first system.
        other: Errors of the second.
        groups: The cluster of each item, by its id. The interval treats these as independent.

    Returns:
        None if no item was answered by both.
    """
    both = [name for name in one if name in other]
    if not both:
        return None
    x, y = [float(one[name]) for name in both], [float(other[name]) for name in both]
    shared = tuple(name for name in both if one[name] and other[name])
    correlation = pearson(x, y, [groups[name] for name in both])
    return Common(len(both), int(sum(x)), int(sum(y)), shared, correlation)


def every_two(missed: Mapping[str, Wrong], groups: Mapping[str, str]) -> Iterator[tuple[str, str, Common]]:
    """`in_common` for every two systems that have answered the same items.

    Yields:
        The names of both systems and their common errors.

    Raises:
        ValueError: If the systems did not answer the same items.
    """
    names = list(missed)
    ids = list(missed[names[0]]) if names else []
    if not ids:
        return
    if any(errors.keys() != missed[names[0]].keys() for errors in missed.values()):
        raise ValueError("not of the same items")
    ids_N, wrong_SN = (
        np.array(ids, dtype=object),
        np.array([[missed[name][item] for item in ids] for name in names], dtype=bool),
    )
    errors_S, groups_N = wrong_SN.sum(1), [groups[item] for item in ids]
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


@dataclass(frozen=True)
class Answered:
    """A person's choice: the place of an option (from 0), who it was (if that is known), and whether the
    person was sure."""

    choice: int
    rater: str = ""
    confident: bool = True


def people(path: Path) -> dict[str, tuple[Answered, ...]]:
    """Read what people chose from a CSV file.

    The file has the columns `id` and `choice`, with a row for each answer of a person. A choice is the number
    of an option, from 1. A blank choice is not an answer. The columns `rater` and `confident` (yes or no) are
    optional.

    Returns:
        The answers of all people by item id.

    Raises:
        FiglangError: If a row cannot be read. It names the row.
    """
    problems = Problems(path, strict=False)
    chosen: dict[str, list[Answered]] = {}
    for number, row in read_csv(path, ("id", "choice"), problems):
        name, choice = row["id"].strip(), row["choice"].strip()
        if not choice:
            continue
        if not choice.isdecimal() or len(choice) > 9 or int(choice) < 1:
            raise FiglangError(
                f"{path}: row {number} has the choice {choice!r}; give the number of an option, from 1"
            )
        sure = row.get("confident", "").strip().casefold() != "no"
        one = Answered(int(choice) - 1, row.get("rater", "").strip(), sure)
        if one.rater and any(other.rater == one.rater for other in chosen.get(name, ())):
            raise FiglangError(f"{path}: row {number} is a second answer of {one.rater} to {name}; keep one")
        chosen.setdefault(name, []).append(one)
    if not chosen:
        raise FiglangError(f"{path} has no answer; fill in the column choice")
    return {name: tuple(several) for name, several in chosen.items()}


def majorities(answers: Mapping[str, Sequence[Answered]]) -> dict[str, int | None]:
    """The place of the option that most people chose, by item id; None for a tie."""
    found: dict[str, int | None] = {}
    for name, several in answers.items():
        (first, most), *rest = Counter(one.choice for one in several).most_common(2)
        found[name] = None if rest and rest[0][1] == most else first
    return found


def shares(answers: Sequence[Answered], options: int) -> tuple[float, ...]:
    """The share of people who chose each of so many options."""
    counts = Counter(one.choice for one in answers)
    return tuple(counts[place] / len(answers) for place in range(options))


def level(right: int, raters: int) -> str:
    """How many of the raters of an item are right: one of LEVELS."""
    if right == raters:
        return "all"
    return "most" if 2 * right > raters else "half or fewer" if right else "none"


def wrong_of_people(choices: Mapping[str, int | None], predictions: Sequence[Prediction]) -> dict[str, bool]:
    """Which items people have wrong, by the labels of a system's predictions."""
    gold = {row.id: row.gold for row in predictions if row.gold is not None}
    return {name: choice != gold[name] for name, choice in choices.items() if name in gold}
