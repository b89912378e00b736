"""Systems beside each other on the same items: paired differences with tests, agreement, correction over several comparisons.

A system is one run or several that differ in their seed only. Seeds are pooled: the system's accuracy is the mean over them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import binomtest, permutation_test

from figlang.errors import FiglangError
from figlang.metrics import Array, Estimate, accuracy, by_group, clustered_interval, pair_accuracy, pairs, resampled_sums
from figlang.types import Prediction

FLIPS = 9_999  # sign flips drawn by the permutation test: p is a multiple of 1 / 10,000
BATCH = 2_000_000  # numbers that it holds at a time

Runs = Sequence[Sequence[Prediction]]


@dataclass(frozen=True)
class Difference:
    """How much better a system is than another on the same cases, with a paired 95 % interval and a two-sided test.

    The interval resamples groups and, of pooled systems, seeds. Between two single runs the test is McNemar's exact one, and `won`
    and `lost` are the cases that only one of the two has right; with pooled seeds these are None, and the test is a permutation
    test: the difference of every group is turned round or not at random.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    won: int | None = None
    lost: int | None = None


@dataclass(frozen=True)
class Agreement:
    """Share of items for which two systems choose the same option, and Cohen's kappa of these choices (mean over pairs of seeds).

    A tie is no choice: it agrees with nothing. Kappa is None where both systems always choose the same one option.
    """

    share: float
    kappa: float | None


@dataclass(frozen=True)
class Compared:
    """Two systems, by their places in the list: differences are those of `second` minus `first`."""

    first: int
    second: int
    items: Difference
    pairs: Difference | None
    agreement: Agreement
    items_holm: float
    pairs_holm: float | None


def compare(ours: Sequence[Prediction], theirs: Sequence[Prediction], seed: int = 0) -> tuple[Difference, Difference | None]:
    """Differences in accuracy and in pair accuracy (None without pairs), ours minus theirs, of two runs.

    McNemar's test (a binomial over the discordant cases) takes cases as independent, which items of a pair are not: for them the
    interval is the safer guide.

    Raises FiglangError if the two did not see the same items.
    """
    return compare_pooled([ours], [theirs], seed)


def compare_pooled(ours: Runs, theirs: Runs, seed: int = 0) -> tuple[Difference, Difference | None]:
    """The same of two systems with one run per seed, or several."""
    groups = [[row.id for row in members] for members in by_group(ours[0]).values()]
    together = [[row.id for row in members] for members in pairs(ours[0])]
    seen = {row.id: (row.group, row.gold) for row in ours[0]}
    if any({row.id: (row.group, row.gold) for row in rows} != seen for rows in (*ours, *theirs)):
        raise FiglangError("the systems were not evaluated on the same items; evaluate them on the same data and split")
    if not groups:
        raise FiglangError("every label is hidden, so nothing can be compared")
    right = [[{row.id: bool(row.correct) for row in rows} for rows in runs] for runs in (ours, theirs)]
    items = [_hits(runs, groups, whole=False) for runs in right]
    sizes = np.array([len(ids) for ids in groups], float)
    both = [_hits(runs, together, whole=True) for runs in right]
    return (
        _difference(items[0], items[1], sizes, seed),
        _difference(both[0], both[1], np.ones(len(together)), seed) if together else None,
    )


def mean_accuracy(runs: Runs, seed: int = 0) -> Estimate | None:
    """Accuracy of a system, the mean over its seeds; the interval resamples groups and takes the seeds as they are."""
    return _mean(runs, accuracy, whole=False, seed=seed)


def mean_pair_accuracy(runs: Runs, seed: int = 0) -> Estimate | None:
    """The same of pair accuracy."""
    return _mean(runs, pair_accuracy, whole=True, seed=seed)


def _mean(runs: Runs, metric: Callable[[Sequence[Prediction], int], Estimate | None], whole: bool, seed: int) -> Estimate | None:
    first = metric(runs[0], seed)
    if first is None or len(runs) == 1:
        return first
    groups = [[row.id for row in members] for members in (pairs(runs[0]) if whole else by_group(runs[0]).values())]
    hits = _hits([{row.id: bool(row.correct) for row in rows} for rows in runs], groups, whole)
    means_G = np.array([[sum(cases) for cases in run] for run in hits], float).mean(0)
    sizes = [len(cases) for cases in hits[0]]
    low, high = clustered_interval(list(means_G), sizes, seed)
    return Estimate(float(means_G.sum()) / first.n, low, high, first.n, first.chance)


def _hits(runs: Sequence[dict[str, bool]], groups: Sequence[Sequence[str]], whole: bool) -> list[list[list[bool]]]:
    """Per run and group, its cases: the items, or the one case that all are right."""
    cases = [[[right[id] for id in ids] for ids in groups] for right in runs]
    return [[[all(members)] for members in run] for run in cases] if whole else cases


def _difference(ours: list[list[list[bool]]], theirs: list[list[list[bool]]], sizes_G: Array, seed: int) -> Difference:
    ours_GS, theirs_GT = (np.array([[sum(cases) for cases in run] for run in runs], float).T for runs in (ours, theirs))
    n = int(sizes_G.sum())
    value = (ours_GS.mean(1).sum() - theirs_GT.mean(1).sum()) / n
    low, high = _interval(ours_GS, theirs_GT, sizes_G, seed)
    if len(ours) > 1 or len(theirs) > 1:
        return Difference(value, low, high, _permuted(ours_GS.mean(1), theirs_GT.mean(1), seed), n)
    both = [(a, b) for mine, other in zip(ours[0], theirs[0], strict=True) for a, b in zip(mine, other, strict=True)]
    won, lost = sum(a and not b for a, b in both), sum(b and not a for a, b in both)
    p = float(binomtest(won, won + lost, 0.5).pvalue) if won + lost else 1.0
    return Difference(value, low, high, p, n, won, lost)


def _interval(ours_GS: Array, theirs_GT: Array, sizes_G: Array, seed: int) -> tuple[float, float]:
    seeds = ours_GS.shape[1]
    sums_RK = resampled_sums(np.column_stack([ours_GS, theirs_GT, sizes_G]), seed)
    draw = np.random.default_rng([seed, 1])  # not the draws that chose the groups
    shares = [_over_seeds(sums, draw) / sums_RK[:, -1] for sums in (sums_RK[:, :seeds], sums_RK[:, seeds:-1])]
    low, high = np.quantile(shares[0] - shares[1], (0.025, 0.975))
    return float(low), float(high)


def _over_seeds(sums_RS: Array, draw: np.random.Generator) -> Array:
    """The mean over as many seeds as there are, drawn with replacement for every resample."""
    resamples, seeds = sums_RS.shape
    weights_RS = draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds
    return np.asarray((weights_RS * sums_RS).sum(1))


def _permuted(ours_G: Array, theirs_G: Array, seed: int) -> float:
    moved_G = ours_G - theirs_G
    moved_G = moved_G[moved_G != 0]  # turning nothing round changes nothing
    if len(moved_G) < 2:  # of one group, both ways to turn it are as far from 0
        return 1.0
    found = permutation_test(
        (moved_G,),
        lambda moved, axis: moved.sum(axis=axis),
        permutation_type="samples",
        n_resamples=FLIPS,
        batch=max(1, BATCH // len(moved_G)),
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def agreement(ours: Sequence[Prediction], theirs: Sequence[Prediction]) -> Agreement:
    """How often two runs choose the same, right or wrong."""
    other = {row.id: row.choice for row in theirs}
    choices = [(row.choice, other[row.id]) for row in ours]
    n = len(choices)
    share = sum(a is not None and a == b for a, b in choices) / n
    options = {option for both in choices for option in both} - {None}
    chance = sum(sum(a == option for a, _ in choices) * sum(b == option for _, b in choices) for option in options) / n**2
    return Agreement(share, None if chance == 1 else (share - chance) / (1 - chance))


def holm(p_values: Sequence[float]) -> list[float]:
    """p values corrected for so many comparisons (Holm 1979): the chance of any false alarm among them stays below the level."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def every_pair(systems: Sequence[Runs], seed: int = 0) -> list[Compared]:
    """Every two of the systems, with p values corrected over all of these comparisons, items and pairs each."""
    places = list(combinations(range(len(systems)), 2))
    found = [compare_pooled(systems[b], systems[a], seed) for a, b in places]
    items = holm([difference.p for difference, _ in found])
    paired = [place for place, (_, difference) in enumerate(found) if difference is not None]
    pairs_holm = dict(zip(paired, holm([found[place][1].p for place in paired]), strict=True))  # type: ignore[union-attr]
    return [
        Compared(a, b, *found[place], _mean_agreement(systems[a], systems[b]), items[place], pairs_holm.get(place))
        for place, (a, b) in enumerate(places)
    ]


def _mean_agreement(ours: Runs, theirs: Runs) -> Agreement:
    found = [agreement(mine, other) for mine in ours for other in theirs]
    kappas = [one.kappa for one in found if one.kappa is not None]
    return Agreement(float(np.mean([one.share for one in found])), float(np.mean(kappas)) if kappas else None)
