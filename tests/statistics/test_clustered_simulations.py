"""Simulations: how often tests reject what is true, and how often intervals hold it.

Clusters are like those of the benchmarks: single items, Fig-QA's pairs, MiQA's 150 rows of four, MUNCH's
sentences of one to six words. Their items depend on each other, and so do two systems on the same items.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from figlang.statistics.clustered import DIFFERENCE, SHARE, Ratios, Support
from figlang.statistics.seeds import Seeds, freedom

DRAWS = 2000
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
# Three standard errors of a rate of .05 among so many draws are .0146: a rate of .05 is within .035 to .065.
LEAST, MOST = 0.035, 0.065
# Of eight clusters, one holds nearly half of all items.
UNEQUAL = [1, 1, 1, 2, 3, 5, 10, 20]


def sizes_of(kind: str, clusters: int) -> Integers:
    """Sizes of clusters; those of MUNCH run from 1 to 6."""
    sizes = {"single": [1], "pairs": [2], "rows": [4], "sentences": [1, 2, 3, 4, 5, 6], "unequal": UNEQUAL}
    return np.resize(np.array(sizes[kind]), clusters)


def latent(
    rng: np.random.Generator, draws: int, sizes: Integers, correlation: float
) -> npt.NDArray[np.float32]:
    """Normal values (draws, clusters, largest size), correlated within clusters.

    Negatively between neighbours if the correlation is below 0, as in pairs.
    """
    shape = (draws, len(sizes), int(sizes.max()))
    common, own = rng.standard_normal((*shape[:2], 1), np.float32), rng.standard_normal(shape, np.float32)
    sign = 1 if correlation >= 0 else np.where(np.arange(shape[2]) % 2, 1, -1).astype(np.float32)
    return np.asarray(
        sign * np.sqrt(abs(correlation)) * common + np.sqrt(1 - abs(correlation)) * own, np.float32
    )


def right(values: npt.NDArray[np.float32], sizes: Integers, share: float) -> Bools:
    return np.asarray((values < norm.ppf(share)) & (np.arange(values.shape[2]) < sizes[:, None]))


def ratios(hits_DG: Integers, sizes: Integers, support: Support) -> Ratios:
    """One ratio a draw, from what its clusters sum up to."""
    codes = (hits_DG + 100) * 1000 + sizes
    kinds = np.unique(codes)
    counts = np.stack([(codes == kind).sum(1) for kind in kinds], 1).astype(float)
    hits, members = (
        np.broadcast_to(part.astype(float), counts.shape) for part in (kinds // 1000 - 100, kinds % 1000)
    )
    return Ratios(counts, hits, members, support)


def of_share(kind: str, clusters: int, share: float, correlation: float, draws: int = DRAWS) -> Ratios:
    rng, sizes = np.random.default_rng(0), sizes_of(kind, clusters)
    hits = [right(latent(rng, 250, sizes, correlation), sizes, share).sum(2) for _ in range(draws // 250)]
    return ratios(np.concatenate(hits), sizes, SHARE)


def of_difference(
    kind: str,
    clusters: int,
    shares: tuple[float, float],
    correlation: float,
    alike: float,
    draws: int = DRAWS,
) -> Ratios:
    """The first of two systems minus the second.

    `alike` is the share of an item's difficulty that both have.
    """
    rng, sizes = np.random.default_rng(1), sizes_of(kind, clusters)
    moved = []
    for _ in range(draws // 250):
        common, *own = (latent(rng, 250, sizes, correlation) for _ in range(3))
        both = [
            right(np.sqrt(alike) * common + np.sqrt(1 - alike) * each, sizes, share)
            for each, share in zip(own, shares, strict=True)
        ]
        moved.append(both[0].sum(2) - both[1].sum(2))
    return ratios(np.concatenate(moved), sizes, DIFFERENCE)


def rejected(found: Ratios, truth: float) -> float:
    return float((found.p(truth) < 0.05).mean())


REALISTIC = [("single", 400), ("pairs", 547), ("rows", 150), ("sentences", 164)]
CORRELATIONS = {
    "single": (0.0,),
    "pairs": (-0.8, -0.4, 0.0, 0.4, 0.8),
    "rows": (-0.8, -0.4, 0.0, 0.4, 0.8),
    "sentences": (-0.8, -0.4, 0.0, 0.4, 0.8),
}
CASES = [(kind, clusters, correlation) for kind, clusters in REALISTIC for correlation in CORRELATIONS[kind]]
QUICK = [("pairs", 100, -0.8), ("rows", 100, 0.8)]


@pytest.mark.parametrize(
    ("kind", "clusters", "correlation"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES)],
)
def test_a_model_that_guesses_is_seldom_told_from_chance(
    kind: str, clusters: int, correlation: float
) -> None:
    assert LEAST <= rejected(of_share(kind, clusters, 0.5, correlation), 0.5) <= MOST


@pytest.mark.parametrize(("kind", "clusters", "correlation"), QUICK)
def test_equal_systems_are_seldom_told_apart(kind: str, clusters: int, correlation: float) -> None:
    assert LEAST <= rejected(of_difference(kind, clusters, (0.7, 0.7), correlation, 0.4), 0) <= MOST


@pytest.mark.parametrize(("clusters", "most"), [(32, 0.11), pytest.param(104, 0.08, marks=pytest.mark.slow)])
def test_few_clusters_of_very_unequal_sizes_are_told_apart_too_often(clusters: int, most: float) -> None:
    found = rejected(of_difference("unequal", clusters, (0.7, 0.7), 0.6, 0.4, draws=1000), 0)
    assert LEAST <= found <= most, "docs/design/statistics.md has the rate"


@pytest.mark.parametrize(("clusters", "share"), [(10, 0.98), (20, 0.9), (50, 0.98), (100, 0.5)])
def test_intervals_hold_the_share(clusters: int, share: float) -> None:
    assert rejected(of_share("pairs", clusters, share, 0.4), share) <= 0.07


@pytest.mark.parametrize("correlation", [-0.8, 0.3, 0.8])
@pytest.mark.parametrize(("kind", "clusters"), [("pairs", 60), ("rows", 40), ("sentences", 40)])
def test_interval_and_p_are_of_one_mind(kind: str, clusters: int, correlation: float) -> None:
    differences = of_difference(kind, clusters, (0.7, 0.6), correlation, 0.4, draws=500)
    for found, chance in ((differences, 0.0), (of_share(kind, clusters, 0.58, correlation, 500), 0.5)):
        low, high = found.intervals()
        apart = found.p(chance) < 0.05
        assert 0.05 < apart.mean() < 0.95
        assert (((low > chance) | (high < chance)) == apart).mean() >= 0.998


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.7, 0.85])
@pytest.mark.parametrize("alike", [0.2, 0.6])
@pytest.mark.parametrize(("kind", "clusters", "correlation"), CASES)
def test_the_level_between_systems(
    kind: str, clusters: int, correlation: float, alike: float, share: float
) -> None:
    assert LEAST <= rejected(of_difference(kind, clusters, (share, share), correlation, alike), 0) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [10, 20, 50, 100, 200, 500, 1000])
@pytest.mark.parametrize("kind", ["single", "pairs", "rows", "sentences"])
def test_the_coverage_of_shares(kind: str, clusters: int) -> None:
    shares = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
    found = {
        (share, correlation): rejected(of_share(kind, clusters, share, correlation), share)
        for share in shares
        for correlation in CORRELATIONS[kind]
    }
    assert {case: rate for case, rate in found.items() if rate > 0.07} == {}


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.6, 0.5), (0.9, 0.7), (0.98, 0.9)])
@pytest.mark.parametrize(
    ("kind", "clusters"),
    [(kind, n) for kind in ("single", "pairs", "rows", "sentences") for n in (10, 50, 150)],
)
def test_the_coverage_of_differences(kind: str, clusters: int, shares: tuple[float, float]) -> None:
    found = {
        correlation: rejected(of_difference(kind, clusters, shares, correlation, 0.4), shares[0] - shares[1])
        for correlation in CORRELATIONS[kind]
    }
    assert {case: rate for case, rate in found.items() if rate > 0.07} == {}


def pooled(seeds: int, deviation: float, draws: int) -> float:
    """How often systems of several seeds each, equal but for their seeds, are told apart on 200 pairs."""
    rng, sizes = np.random.default_rng(2), sizes_of("pairs", 200)
    false_alarms = []
    for _ in range(draws):
        hard = latent(rng, 1, sizes, -0.3)
        both: list[Integers] = []
        for _ in range(2):
            skills = norm.ppf(0.7) + deviation * rng.standard_normal(seeds)
            own = latent(rng, seeds, sizes, -0.3)
            both.append((0.7 * hard + 0.714 * own < skills[:, None, None]).sum(2))
        apart = both[0].sum(0) - both[1].sum(0)
        false_alarms.append(_p(apart, sizes, both, seeds) < 0.05)
    return float(np.mean(false_alarms))


def _p(apart: Integers, sizes: Integers, both: Sequence[Integers], seeds: int) -> float:
    one = Ratios.of(apart / seeds, sizes.astype(float), DIFFERENCE)
    parts = [Seeds.of(hits, sizes) for hits in both]
    extra = np.array([sum(part.variance for part in parts)])
    spreads, freedoms = (
        [np.array([getattr(part, name)]) for part in parts] for name in ("spread", "freedom")
    )
    free = freedom(one, extra, spreads, freedoms)
    whole = Ratios(one.counts, one.hits, one.sizes, DIFFERENCE, extra, free)
    return float(whole.p(0)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "deviation"), [(2, 0.0), (2, 0.05), (2, 0.1), (3, 0.05), (3, 0.1), (5, 0.0), (5, 0.1)]
)
def test_the_level_of_pooled_seeds(seeds: int, deviation: float) -> None:
    assert pooled(seeds, deviation, DRAWS) <= MOST


def of_one_system(seeds: int, deviation: float, draws: int) -> float:
    """How often the interval of the mean over seeds misses the share of all seeds, on 547 pairs."""
    rng, sizes = np.random.default_rng(3), sizes_of("pairs", 547)
    missed = []
    for _ in range(draws):
        skills = norm.ppf(0.7) + deviation * rng.standard_normal(seeds)
        hard, own = latent(rng, 1, sizes, -0.3), latent(rng, seeds, sizes, -0.3)
        hits = (0.7 * hard + 0.714 * own < skills[:, None, None]).sum(2)
        one, part = Ratios.of(hits.mean(0), sizes.astype(float)), Seeds.of(hits, sizes)
        extra = np.array([part.variance])
        free = freedom(one, extra, [np.array([part.spread])], [np.array([part.freedom])])
        whole = Ratios(one.counts, one.hits, one.sizes, SHARE, extra, free)
        missed.append(whole.p(norm.cdf(norm.ppf(0.7) / np.sqrt(1 + deviation**2)))[0] < 0.05)
    return float(np.mean(missed))


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "most"), [(2, 0.13), (3, 0.10), (5, 0.09)])
def test_the_interval_of_a_mean_over_few_seeds(seeds: int, most: float) -> None:
    found = of_one_system(seeds, 0.1, 400)
    assert found <= most, "docs/design/statistics.md has the rates"
    assert seeds > 2 or found > MOST, "two seeds are too few, as the page says"
