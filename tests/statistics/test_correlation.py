"""Correlations: against scipy, and by hand."""

from math import log

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap, pearsonr, pointbiserialr, spearmanr, t

from figlang.statistics.correlation import pearson, probability, spearman
from figlang.types import Prediction


def test_probability_is_the_softmax_of_scores_however_far_they_are() -> None:
    assert probability(Prediction("a", "a", 0, (log(3), 0.0)), 0) == pytest.approx(0.75)
    assert probability(Prediction("a", "a", 0, (-5000.0, -6000.0)), 0) == 1


def test_point_biserial_is_that_of_scipy() -> None:
    draw = np.random.default_rng(1)
    right, x = draw.integers(0, 2, 60), draw.normal(size=60)
    found = pearson(list(x), [float(one) for one in right], [str(place // 2) for place in range(60)])
    theirs = pointbiserialr(right, x)
    assert found is not None
    assert found.r == pytest.approx(theirs.statistic)
    assert found.low < found.r < found.high
    assert (found.low <= 0 <= found.high) == (found.p >= 0.05)


def test_the_interval_of_independent_cases_is_that_of_scipys_bootstrap() -> None:
    draw = np.random.default_rng(7)
    x = draw.normal(size=120)
    y = 0.5 * x + draw.normal(size=120)
    found = pearson(list(x), list(y), [str(place) for place in range(120)])
    rng = np.random.default_rng(8)
    theirs = bootstrap(
        (x, y),
        lambda a, b, axis: pearsonr(a, b, axis=axis).statistic,
        paired=True,
        method="percentile",
        rng=rng,
    )
    assert found is not None
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.015)


def test_the_interval_of_repeated_cases_is_that_of_their_groups() -> None:
    draw = np.random.default_rng(2)
    x = draw.normal(size=50)
    y = x + draw.normal(size=50)
    once = pearson(list(x), list(y), [str(place) for place in range(50)])
    thrice = pearson(list(np.repeat(x, 3)), list(np.repeat(y, 3)), [str(place // 3) for place in range(150)])
    assert once is not None
    assert thrice is not None
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high), abs=0.02)


def test_the_error_is_that_of_a_small_change_of_each_groups_weight() -> None:
    """The infinitesimal jackknife: five groups of two, four degrees of freedom."""
    draw = np.random.default_rng(4)
    x = draw.normal(size=10)
    y = x + draw.normal(size=10)

    def weighted(weights: np.ndarray) -> float:
        (over_x, both), (_, over_y) = np.cov(x, y, aweights=weights, ddof=0)
        return float(both / np.sqrt(over_x * over_y))

    found = pearson(list(x), list(y), [str(place // 2) for place in range(10)])
    step = 1e-6
    rises = [
        (weighted(1 + step * (np.arange(10) // 2 == group)) - weighted(np.ones(10))) / step
        for group in range(5)
    ]
    assert found is not None
    error = np.sqrt(5 / 4 * np.square(rises).sum()) / (1 - found.r**2)
    reach = t.isf(0.025, 4) * error
    ends = np.tanh(np.arctanh(found.r) + np.array([-reach, reach]))
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-4)
    assert found.p == pytest.approx(2 * t.sf(np.arctanh(found.r) / error, 4), rel=1e-4)


def test_clusters_that_all_say_the_same_leave_no_error() -> None:
    groups = ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    balanced = pearson([0, 0, 1, 1] * 3, [0, 1, 0, 1] * 3, groups)
    assert balanced is not None
    assert (abs(balanced.r) < 1e-12, balanced.p) == (True, 1)
    tied = pearson([0, 0, 0, 1] * 3, [0, 0, 1, 1] * 3, groups)
    assert tied is not None
    assert tied.r == pytest.approx(3**-0.5)
    assert tied.p > 0.05, "three clusters show nothing for sure"
    assert tied.low < 0 < tied.r < tied.high
    many = pearson([0, 0, 0, 1] * 99, [0, 0, 1, 1] * 99, [str(place // 4) for place in range(396)])
    assert many is not None
    assert many.p < 1e-12
    assert (many.low, many.high) == pytest.approx((many.r, many.r), abs=0.06)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [4, 5, 6, 40])
def test_points_on_a_line_are_as_sure_as_a_sign_test_of_as_many_cases(n: int, sign: int) -> None:
    """Three items gave p < 0.001 and an interval from 1.00 to 1.00."""
    x, y = list(range(n)), [sign * value for value in range(n)]
    exact = binomtest(n, n)
    low = 2 * exact.proportion_ci(method="exact").low - 1
    for found in (pearson(x, y, [str(value) for value in x]), spearman(x, y)):
        assert found is not None
        assert found.r == pytest.approx(sign)
        assert found.p == pytest.approx(exact.pvalue)
        assert sorted((sign * found.low, sign * found.high)) == pytest.approx([low, 1])
        assert (found.low <= 0 <= found.high) == (found.p >= 0.05)


def test_a_constant_has_no_correlation() -> None:
    assert pearson([1, 1, 1], [0, 1, 0], ["a", "b", "c"]) is None
    assert spearman([1, 1, 1, 1], [1, 2, 3, 4]) is None


def test_spearman_is_that_of_scipy_with_bonett_and_wrights_interval() -> None:
    draw = np.random.default_rng(3)
    x = draw.normal(size=100)
    y = x + draw.normal(size=100)
    found, theirs = spearman(list(x), list(y)), spearmanr(x, y)
    assert found is not None
    assert (found.r, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    # Worked by hand: atanh(r) ± 1.96 √((1 + r²/2) / (n − 3))
    reach = 1.959963984540054 * np.sqrt((1 + found.r**2 / 2) / 97)
    assert found.low == pytest.approx(np.tanh(np.arctanh(found.r) - reach))
