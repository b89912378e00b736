"""Tails and quantiles are those of scipy.stats, digit by digit."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_array_equal

from figlang.statistics import distributions
from figlang.statistics.distributions import beta_critical, beta_quantile, binomial_tails, t_above, t_critical

FREE = np.array([1, 2, 3, 9, 10, 100, 1e3, 1e6, 2.5])


def test_students_t() -> None:
    values = np.array([0, 1e-9, 0.3, 1, 2.2622, 5, 40, 1e6])[:, None]
    assert_array_equal(t_above(values, FREE), scipy.stats.t.sf(values, FREE))
    for tail in (0.005, 0.025, 0.05):
        assert_array_equal(t_critical(tail, FREE), scipy.stats.t.isf(tail, FREE))


@pytest.mark.parametrize("private", [True, False])
def test_the_binomial(private: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not private:  # a scipy that has no such functions
        monkeypatch.setattr(distributions.scipy.special, "_ufuncs", object())
    for cases in (1, 2, 10, 97, 1094):
        right = np.arange(0.0, cases + 1)
        for share in (0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0):
            all_cases, shares = np.full_like(right, cases), np.full_like(right, share)
            at_most, at_least = binomial_tails(right, all_cases, shares)
            assert_array_equal(at_most, scipy.stats.binom.cdf(right, cases, share))
            assert_array_equal(at_least, scipy.stats.binom.sf(right - 1, cases, share))


def test_the_beta_distribution() -> None:
    for cases in (1, 2, 10, 97, 1094, 50_000):
        right = np.unique(np.linspace(0, cases, 50).round())
        a, b = np.maximum(right, 1), cases - right + 1
        for tail in (0.005, 0.025, 0.05):
            assert_array_equal(beta_quantile(tail, a, b), scipy.stats.beta.ppf(tail, a, b))
            assert_array_equal(beta_critical(tail, a, b), scipy.stats.beta.isf(tail, a, b))
