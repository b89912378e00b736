"""Laws of figlang/statistics/: well-known tests as special cases, brute-force references, invariances."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest, norm, t
from statsmodels.stats.proportion import proportion_confint

from figlang.statistics import clustered
from figlang.statistics.clustered import DIFFERENCE, SHARE, Ratios, Support
from figlang.statistics.contrast import contrast, weighted_sum
from figlang.statistics.metrics import ratio
from figlang.statistics.seeds import Seeds

Numbers = npt.NDArray[np.float64]


def ends(ratios: Ratios) -> tuple[float, float]:
    (low,), (high,) = ratios.intervals()
    return float(low), float(high)


@pytest.mark.parametrize(("right", "n"), [(7, 10), (0, 12), (40, 40), (530, 1000), (99, 100)])
def test_one_item_a_cluster_has_the_exact_interval_and_test(right: int, n: int) -> None:
    found = Ratios.of([1] * right + [0] * (n - right), [1] * n)
    assert ends(found) == pytest.approx(proportion_confint(right, n, method="beta"), abs=1e-9)
    tails = [binomtest(right, n, 0.7, alternative=side).pvalue for side in ("less", "greater")]
    assert float(found.p(0.7)[0]) == pytest.approx(min(1, 2 * min(tails)))


@pytest.mark.parametrize(("right", "n"), [(7, 10), (40, 40), (530, 1000), (99, 100)])
def test_clusters_that_are_wholly_right_or_wrong_have_wilsons_interval(right: int, n: int) -> None:
    # Wilson's interval of n clusters with a normal quantile z; ours has Student's t and n - 1, which is a
    # wider z.
    z = t.isf(0.025, n - 1) * np.sqrt(n / (n - 1))
    wilson = proportion_confint(right, n, alpha=2 * norm.sf(z), method="wilson")
    assert ends(Ratios.of([2] * right + [0] * (n - right), [2] * n)) == pytest.approx(wilson, abs=1e-8)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (20, 20)])
def test_an_interval_of_all_or_nothing_has_a_width(hits: int, n: int) -> None:
    low, high = ends(Ratios.of([hits // n] * n, [1] * n))
    assert (low, high) == pytest.approx((0, high) if hits == 0 else (low, 1))
    assert high - low > 0.1


def test_pairs_with_exactly_one_right_item_leave_something_open() -> None:
    # All of ten pairs are half right. What an eleventh may be is not known: 50.0 (50.0 – 50.0) would be a
    # lie.
    low, high = ends(Ratios.of([1] * 10, [2] * 10))
    assert low == pytest.approx(1 - high)
    assert low < 0.45


def test_a_single_cluster_says_nothing() -> None:
    found = ratio([5], [10], chance=0.1)
    assert (found.low, found.high) == (0, 1)
    assert found.p is not None
    assert found.p > 0.05


def brute_force(hits: Sequence[float], sizes: Sequence[float], value: float, support: Support) -> float:
    """The statistic, with the likeliest weights by a general optimiser."""
    off = np.asarray(hits, float) - value * np.asarray(sizes, float)
    total, n = float(np.sum(sizes)), len(sizes)
    reach = (float(np.sum(np.square(sizes))) / total) ** support.power
    extremes = np.array([(support.low - value) * reach, (support.high - value) * reach])
    values = np.concatenate([off, extremes[:1] if off.sum() >= 0 else extremes[1:]])
    found = minimize(
        lambda weights: -np.log(np.maximum(weights[:-1], 1e-12)).sum(),
        np.full(n + 1, 1 / (n + 1)),
        jac=lambda weights: np.append(-1 / np.maximum(weights[:-1], 1e-12), 0),
        constraints=[
            {"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": lambda _: np.ones(n + 1)},
            {"type": "eq", "fun": lambda weights: weights @ values, "jac": lambda _: values},
        ],
        bounds=[(0, 1)] * (n + 1),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    variance = float(found.x @ values**2)
    return float((n - 1) * off.mean() ** 2 / variance)


@pytest.mark.parametrize(
    ("hits", "sizes", "value", "support"),
    [
        ([0, 1, 2, 2, 1, 2, 1, 2, 2, 0, 2, 1], [2] * 12, 0.5, SHARE),
        ([0, 1, 2, 2, 1, 2, 1, 2, 2, 0, 2, 1], [2] * 12, 0.95, SHARE),
        ([1, 3, 0, 2, 4, 1, 6, 2], [1, 3, 2, 2, 4, 2, 6, 3], 0.4, SHARE),
        ([2] * 9, [2] * 9, 0.8, SHARE),
        ([1, 0, 0, -1, 1, 0, 2, 0, 0, 1], [2] * 10, 0.0, DIFFERENCE),
        ([0, 0, 0, 0, 0, 1], [3] * 6, 0.0, DIFFERENCE),
        ([0.4, -0.2, 0.9, 0.1, 0.3], [1] * 5, -0.1, Support(-1.0, 1.0)),
    ],
)
def test_the_statistic_is_that_of_a_general_optimiser(
    hits: list[float], sizes: list[float], value: float, support: Support
) -> None:
    p = float(Ratios.of(hits, sizes, support).p(value)[0])
    assert p == pytest.approx(
        2 * t.sf(np.sqrt(brute_force(hits, sizes, value, support)), len(hits) - 1), rel=1e-3
    )


def drawn(seed: int, clusters: int, largest: int) -> tuple[Numbers, Numbers]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, clusters)
    return rng.binomial(sizes, rng.beta(3, 2, clusters)).astype(float), sizes.astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_p_at_an_end_of_the_interval_is_the_level(seed: int) -> None:
    found = Ratios.of(*drawn(seed, 12 + 20 * seed, 1 + seed))
    for end in ends(found):
        assert float(found.p(end)[0]) == pytest.approx(0.05, abs=1e-6) or end in (0, 1)


@pytest.mark.parametrize("seed", range(4))
def test_right_and_wrong_change_places(seed: int) -> None:
    hits, sizes = drawn(seed, 30, 4)
    low, high = ends(Ratios.of(hits, sizes))
    assert ends(Ratios.of(sizes - hits, sizes)) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_the_order_of_the_clusters_changes_nothing() -> None:
    hits, sizes = drawn(1, 40, 5)
    order = np.random.default_rng(0).permutation(40)
    assert ends(Ratios.of(hits[order], sizes[order])) == ends(Ratios.of(hits, sizes))


def test_many_clusters_have_the_interval_of_the_normal_distribution() -> None:
    hits, sizes = drawn(3, 4000, 4)
    found = Ratios.of(hits, sizes)
    half = norm.isf(0.025) * np.sqrt(float(found.variances[0]))
    value = float(found.values[0])
    assert ends(found) == pytest.approx((value - half, value + half), abs=0.02 * half)


def test_the_size_of_a_chunk_changes_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Ratios.of(2 * hits, 2 * sizes) for hits, sizes in (drawn(seed, 60, 1) for seed in range(7))]
    together = Ratios(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "hits", "sizes"))
    )
    whole = together.intervals()
    monkeypatch.setattr(clustered, "CHUNK", 4)  # two ratios of two kinds at a time
    for one, other in zip(together.intervals(), whole, strict=True):
        assert one == pytest.approx(other, abs=1e-9)


def test_the_difference_of_independent_shares_is_newcombes_with_exact_ends() -> None:
    # 56 of 70 and 48 of 80, the example of Newcombe (1998), whose ends are Wilson's: +0.0524 to +0.3339.
    hits, sizes = np.zeros((150, 2)), np.zeros((150, 2))
    hits[:56, 0], hits[70:118, 1] = 1, 1
    sizes[:70, 0], sizes[70:, 1] = 1, 1
    (low, high), p = contrast(hits, sizes)
    (low_one, high_one), (low_other, high_other) = (
        proportion_confint(*each, method="beta") for each in ((56, 70), (48, 80))
    )
    assert low == pytest.approx(0.2 - np.hypot(0.8 - low_one, high_other - 0.6))
    assert high == pytest.approx(0.2 + np.hypot(high_one - 0.8, 0.6 - low_other))
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=0.011)
    assert 0.01 < p < 0.02


@pytest.mark.parametrize("seed", range(4))
def test_a_contrast_excludes_0_where_its_p_is_below_the_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 3, (40, 2)).astype(float)
    hits = rng.binomial(sizes.astype(int), [0.8, 0.6]).astype(float)
    (low, high), p = contrast(hits, sizes)
    assert (low <= 0 <= high) == (p >= 0.05)


def test_a_class_that_is_right_throughout_still_has_a_width() -> None:
    sizes = np.repeat([[1.0, 0.0], [0.0, 1.0]], 30, axis=0)
    (low, high), _ = contrast(sizes.copy(), sizes)
    assert low < -0.05 < 0.05 < high


def test_a_sum_of_weights_one_and_minus_one_is_the_difference_of_independent_shares() -> None:
    hits, sizes = np.zeros((150, 2)), np.zeros((150, 2))
    hits[:56, 0], hits[70:118, 1] = 1, 1
    sizes[:70, 0], sizes[70:, 1] = 1, 1
    found = contrast(hits, sizes)
    sides = [Ratios.of(hits[:70, 0], sizes[:70, 0]), Ratios.of(hits[70:, 1], sizes[70:, 1])]
    value, *rest = weighted_sum(Ratios.stacked(sides), (1, -1))
    assert value == pytest.approx(0.2)
    assert rest[0] == pytest.approx(found[0])
    assert rest[1] == pytest.approx(found[1], rel=1e-3)


def test_the_mean_of_equal_shares_is_as_sure_as_their_number_allows() -> None:
    hits, sizes = drawn(0, 400, 1)
    one = Ratios.of(hits, sizes)
    (low,), (high,) = one.intervals()
    value, ends, p = weighted_sum(Ratios.stacked([one] * 4), [1 / 4] * 4, null=float(low) - 0.001)
    assert value == pytest.approx(float(one.values[0]))
    assert ends == pytest.approx((value - (value - low) / 2, value + (high - value) / 2))
    assert p < 0.001, "the null is twice as far from the mean as its lower end"


def test_seeds_that_are_all_alike_add_nothing() -> None:
    hits = np.tile(np.random.default_rng(0).integers(0, 3, 50), (4, 1))
    assert Seeds.of(hits, np.full(50, 2)).variance == 0


def test_seeds_that_differ_on_every_cluster_alike_add_their_variance() -> None:
    # Shares of 0.25, 0.5 and 0.75: their variance is 1/16, that of the mean of three 1/48.
    hits = np.repeat([[1], [2], [3]], 40, axis=1)
    assert Seeds.of(hits, np.full(40, 4)).variance == pytest.approx(1 / 48)
