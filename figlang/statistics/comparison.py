"""Compare systems on the same items: paired differences with tests, agreement, correction for many tests.

A system is one run, or several runs that differ only in their seed. Seeds are pooled: the system's accuracy
is the mean over them. Shape letters: N items, G clusters, S runs (seeds) of a system, R runs of all systems,
P pairs of systems.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import combinations
from reprlib import repr as brief

import numpy as np
import numpy.typing as npt

from figlang.errors import FiglangError
from figlang.statistics.clustered import DIFFERENCE, FEW, Ratios
from figlang.statistics.metrics import Estimate, accuracies, accuracy, by_group, pair_accuracy
from figlang.statistics.seeds import Seeds, freedom
from figlang.types import Prediction

Runs = Sequence[Sequence[Prediction]]
Places = Sequence[tuple[int, int]]
Integers = npt.NDArray[np.int64]
PART = 500  # pairs of systems that are computed at a time
BLOCK = 20_000  # items of all systems whose choices are compared at a time


@dataclass(frozen=True)
class Difference:
    """How much better one system is than another on the same cases.

    The interval and p come from one test over clusters (`figlang.statistics.clustered`) and, for pooled
    systems, over seeds.

    Attributes:
        value: The paired difference of shares: the system's minus the other's.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Two-sided p against a difference of 0.
        n: Number of cases.
        won: Cases that only the system has right; None with pooled seeds.
        lost: Cases that only the other system has right; None with pooled seeds.
        clusters: Number of clusters.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    won: int | None = None
    lost: int | None = None
    clusters: int | None = None

    @property
    def few(self) -> bool:
        """Whether there are too few clusters to trust an interval."""
        return self.clusters is not None and self.clusters < FEW


@dataclass(frozen=True)
class Agreement:
    """How often two systems choose the same option.

    A tie is not a choice: it agrees with nothing.

    Attributes:
        share: Share of items with the same choice, mean over pairs of seeds.
        kappa: Cohen's kappa of the choices, mean over pairs of seeds; None if both systems always choose the
            same single option.
    """

    share: float
    kappa: float | None


@dataclass(frozen=True)
class Compared:
    """Two systems, by their places in the list. Differences are those of `second` minus `first`."""

    first: int
    second: int
    items: Difference
    pairs: Difference | None
    agreement: Agreement
    items_holm: float
    pairs_holm: float | None


@dataclass(frozen=True)
class _Cases:
    """Which cases each run of a system has right, (S, N).

    Cases of a cluster stand together. Their first places are `starts`, (G).
    """

    right: npt.NDArray[np.bool_]
    starts: Integers

    @cached_property
    def hits(self) -> Integers:
        return np.add.reduceat(self.right, self.starts, axis=1, dtype=np.int64)

    @cached_property
    def sizes(self) -> Integers:
        return np.diff(self.starts, append=self.right.shape[1])

    @cached_property
    def seeds(self) -> Seeds:
        return Seeds.of(self.hits, self.sizes)

    def whole(self, kept_G: npt.NDArray[np.bool_]) -> "_Cases":
        """Some of the clusters, each as one case, which is right if all its cases are right."""
        right_SG = (self.hits == self.sizes)[:, kept_G]
        return _Cases(right_SG, np.arange(right_SG.shape[1]))


def compare(ours: Sequence[Prediction], theirs: Sequence[Prediction]) -> tuple[Difference, Difference | None]:
    """Differences in accuracy and in pair accuracy of two runs, ours minus theirs.

    Returns:
        Both differences; the second is None without pairs.

    Raises:
        FiglangError: If the two runs are not of the same items.
    """
    return compare_pooled([ours], [theirs])


def compare_pooled(ours: Runs, theirs: Runs) -> tuple[Difference, Difference | None]:
    """`compare` for two systems with one run or more for each seed."""
    items, pairs = _cases([theirs, ours])
    places = [(0, 1)]
    return _differences(items, places)[0], _differences(pairs, places)[0] if pairs else None


def gain(ours: Sequence[Prediction], theirs: Sequence[Prediction]) -> Difference:
    """The difference in accuracy alone, as in `compare`."""
    return gain_pooled([ours], [theirs])


def gain_pooled(ours: Runs, theirs: Runs) -> Difference:
    """`gain` of a system with several seeds, the mean over them.

    The two runs of a seed are of one training, so the gain of a seed is one draw. If a seed that uses the
    context more is worse without it, gains vary more than both accuracies would say.

    Args:
        ours: A run for each seed.
        theirs: Another run of each seed, in the same order.

    Returns:
        The difference, with the interval and p for other clusters and seeds of the same kind.

    Raises:
        FiglangError: If the runs are not of the same items.
    """
    items, _ = _cases([theirs, ours])
    return _differences(items, [(0, 1)], paired=True)[0]


def mean_accuracy(runs: Runs) -> Estimate | None:
    """Accuracy of a system, the mean over its seeds.

    The interval covers other clusters and seeds of the same kind.
    """
    return _mean(runs, accuracy(runs[0]), whole=False)


def mean_accuracies(systems: Sequence[Runs]) -> list[Estimate | None]:
    """`mean_accuracy` of each of several systems."""
    single = iter(accuracies([runs[0] for runs in systems if len(runs) == 1]))
    return [next(single) if len(runs) == 1 else mean_accuracy(runs) for runs in systems]


def mean_pair_accuracy(runs: Runs) -> Estimate | None:
    """Pair accuracy of a system, the mean over its seeds."""
    return _mean(runs, pair_accuracy(runs[0]), whole=True)


def _mean(runs: Runs, first: Estimate | None, whole: bool) -> Estimate | None:
    if first is None or len(runs) == 1:
        return first
    cases = _cases([runs])[whole][0]
    ratios = Ratios.of(cases.hits.mean(0), cases.sizes.astype(float))
    extra, spread, free = (np.array([value]) for value in astuple(cases.seeds))
    ratios = replace(ratios, extra=extra, freedom=freedom(ratios, extra, [spread], [free]))
    (low,), (high,) = ratios.intervals()
    p = None if first.chance is None else float(ratios.p(first.chance)[0])
    return replace(first, value=float(ratios.values[0]), low=float(low), high=float(high), p=p)


def _numbered(gold: int | None) -> str:
    return "hidden" if gold is None else f"number {gold}"


def _cases(systems: Sequence[Runs]) -> tuple[list[_Cases], list[_Cases]]:
    """The items of every system by cluster, and its pairs. The second list is empty without pairs."""
    groups = by_group(systems[0][0])
    seen = {row.id: (row.group, row.gold) for row in systems[0][0]}
    if any({row.id: (row.group, row.gold) for row in rows} != seen for runs in systems for rows in runs):
        other = [row for runs in systems for rows in runs for row in rows]
        if odd := next((row for row in other if seen.get(row.id, (None, row.gold))[1] != row.gold), None):
            raise FiglangError(
                f"the right option of {odd.id} is {_numbered(seen[odd.id][1])} in one system and "
                f"{_numbered(odd.gold)} in another; give results with the same labels and the same order of "
                "options"
            )
        if odd := next((row for row in other if row.id in seen and seen[row.id][0] != row.group), None):
            raise FiglangError(
                f"the item {odd.id} is in the cluster {brief(seen[odd.id][0])} in one system and in "
                f"{brief(odd.group)} in another; give the same data.columns.cluster, or the same group in "
                "predictions of your own"
            )
        raise FiglangError(
            "the systems were not evaluated on the same items; evaluate them on the same data and split"
        )
    if not groups:
        raise FiglangError("every label is hidden, so nothing can be compared")
    place = {
        row.id: number for number, row in enumerate(row for members in groups.values() for row in members)
    }
    starts_G = np.cumsum([0, *map(len, groups.values())])[:-1]
    items = []
    for runs in systems:
        right_SN = np.zeros((len(runs), len(place)), bool)
        for right_N, rows in zip(right_SN, runs, strict=True):
            right_N[[place[row.id] for row in rows if row.gold is not None]] = [
                bool(row.correct) for row in rows if row.gold is not None
            ]
        items.append(_Cases(right_SN, starts_G))
    kept_G = np.array([len(members) > 1 and members[0].paired for members in groups.values()])
    return items, [cases.whole(kept_G) for cases in items] if kept_G.any() else []


def _differences(systems: Sequence[_Cases], places: Places, paired: bool = False) -> list[Difference]:
    """The system at the second of every two places minus the one at the first.

    With `paired`, the runs of both are of the same seeds, in the same order.
    """
    sizes_G = systems[0].sizes
    n, clusters = int(sizes_G.sum()), len(sizes_G)
    sums = [cases.hits.sum(0) for cases in systems]
    runs = [len(cases.right) for cases in systems]
    ratios = _paired(sums, runs, sizes_G, places)
    # What seeds add: a variance of each system, or if they are paired, one of their differences.
    if paired:
        moved = [Seeds.of(systems[b].hits - systems[a].hits, sizes_G) for a, b in places]
        drawn_DP3 = np.array([[*map(astuple, moved)]])
    else:
        drawn_DP3 = np.array([astuple(cases.seeds) for cases in systems])[np.array(places).T]
    variances, spreads, degrees = np.moveaxis(drawn_DP3, 2, 0)
    if spreads.any():
        extra = variances.sum(0)
        ratios = replace(ratios, extra=extra, freedom=freedom(ratios, extra, [*spreads], [*degrees]))
    low_P, high_P = ratios.intervals()
    p_P, values_P = ratios.p(0.0), ratios.values
    single = [cases.right[0].astype(np.float32) for cases in systems]
    differences = []
    for place, (a, b) in enumerate(places):
        counts: tuple[int | None, int | None] = (None, None)
        if runs[a] == runs[b] == 1:
            both = float(single[a] @ single[b])
            counts = (int(single[b].sum() - both), int(single[a].sum() - both))
        ends = (float(values_P[place]), float(low_P[place]), float(high_P[place]), float(p_P[place]))
        differences.append(Difference(*ends, n, *counts, clusters))
    return differences


def _paired(sums: Sequence[Integers], runs: Sequence[int], sizes_G: Integers, places: Places) -> Ratios:
    """Kinds of clusters by how much better the second of every two systems is there."""
    sizes_Z, size_G = np.unique(sizes_G, return_inverse=True)
    counted, kinds = [], []
    for a, b in places:
        # Multiplied by the number of runs of both systems, means over runs are whole numbers.
        moved_G = sums[b] * runs[a] - sums[a] * runs[b]
        codes, counts = _counted(moved_G * len(sizes_Z) + size_G)
        counted.append(counts)
        kinds.append(codes)
    shape = len(kinds), max(map(len, kinds))
    counts_PK, codes_PK = np.zeros(shape), np.zeros(shape, np.int64)
    for place, (counts, codes) in enumerate(zip(counted, kinds, strict=True)):
        counts_PK[place, : len(counts)] = counts
        codes_PK[place, : len(codes)] = codes
    scale_P1 = np.array([[runs[a] * runs[b]] for a, b in places])
    moved_PK, sizes_PK = codes_PK // len(sizes_Z), sizes_Z[codes_PK % len(sizes_Z)]
    return Ratios(counts_PK, moved_PK / scale_P1, sizes_PK.astype(float), DIFFERENCE)


def _counted(codes: Integers) -> tuple[Integers, Integers]:
    """The whole numbers that occur, and how often.

    Counting is faster than sorting if they lie close together.
    """
    least, most = int(codes.min()), int(codes.max())
    if most - least > 8 * len(codes):
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes - least)
    (seen,) = np.nonzero(counts)
    return seen + least, counts[seen]


def agreement(ours: Sequence[Prediction], theirs: Sequence[Prediction]) -> Agreement:
    """How often two runs choose the same option, right or wrong."""
    return _agreements([[theirs], [ours]], [(0, 1)])[0]


def _agreements(systems: Sequence[Runs], places: Places) -> list[Agreement]:
    place = {row.id: number for number, row in enumerate(systems[0][0])}
    n = len(place)
    choices_RN = np.full((sum(map(len, systems)), n), -1, np.int16)
    for choices_N, rows in zip(choices_RN, (rows for runs in systems for rows in runs), strict=True):
        choices_N[[place[row.id] for row in rows]] = [
            -1 if row.choice is None else row.choice for row in rows
        ]
    same_RR, chance_RR = (
        np.zeros((len(choices_RN), len(choices_RN))),
        np.zeros((len(choices_RN), len(choices_RN))),
    )
    for option in range(int(choices_RN.max()) + 1):
        often_R = (choices_RN == option).sum(1) / n
        chance_RR += often_R[:, None] * often_R
        for start in range(0, n, BLOCK):
            chosen_RN = (choices_RN[:, start : start + BLOCK] == option).astype(np.float32)
            same_RR += chosen_RN @ chosen_RN.T
    same_RR /= n
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa_RR = np.where(chance_RR == 1, np.nan, (same_RR - chance_RR) / (1 - chance_RR))
    edges = np.cumsum([0, *map(len, systems)])
    agreements = []
    for a, b in places:
        own, other = slice(edges[a], edges[a + 1]), slice(edges[b], edges[b + 1])
        kappas = kappa_RR[own, other][~np.isnan(kappa_RR[own, other])]
        agreements.append(
            Agreement(float(same_RR[own, other].mean()), float(kappas.mean()) if kappas.size else None)
        )
    return agreements


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for several tests (Holm 1979).

    The chance of any false alarm among the tests then stays below the level.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def every_pair(
    systems: Sequence[Runs], watch: Callable[[Sequence[Places]], Iterable[Places]] = iter
) -> list[Compared]:
    """Compare every two systems.

    The p values are corrected over all of these comparisons, separately for items and for pairs.

    Args:
        systems: The runs of each system.
        watch: Gets the parts of the work and gives them back, for a progress bar.
    """
    places = list(combinations(range(len(systems)), 2))
    items, pairs = _cases(systems)
    of_items: list[Difference] = []
    of_pairs: list[Difference] = []
    for part in watch([places[start : start + PART] for start in range(0, len(places), PART)]):
        of_items += _differences(items, part)
        of_pairs += _differences(pairs, part) if pairs else []
    items_holm = holm([difference.p for difference in of_items])
    pairs_holm = holm([difference.p for difference in of_pairs]) if of_pairs else None
    agreements = _agreements(systems, places)
    return [
        Compared(
            a,
            b,
            of_items[place],
            of_pairs[place] if of_pairs else None,
            agreements[place],
            items_holm[place],
            pairs_holm[place] if pairs_holm else None,
        )
        for place, (a, b) in enumerate(places)
    ]
