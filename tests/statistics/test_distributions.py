"""Tails and quantiles are those of scipy.stats."""

from typing import Any

import numpy as np
import scipy.stats
from numpy.testing import assert_allclose

from figlang.statistics.distributions import beta_critical, beta_quantile, binomial_tails, t_above, t_critical

RELATIVE = 1e-12  # far more than rounding, far less than a p-value shows
FREE = np.array([1, 2, 3, 9, 10, 100, 1e3, 1e6, 2.5])


def _same(ours: Any, known: Any) -> None:
    assert_allclose(ours, known, rtol=RELATIVE, atol=1e-200)


def test_students_t() -> None:
    values = np.array([0, 1e-9, 0.3, 1, 2.2622, 5, 40, 1e6])[:, None]
    _same(t_above(values, FREE), scipy.stats.t.sf(values, FREE))
    for tail in (0.005, 0.025, 0.05):
        _same(t_critical(tail, FREE), scipy.stats.t.isf(tail, FREE))


def test_the_binomial() -> None:
    for cases in (1, 2, 10, 97, 1094):
        right = np.arange(0.0, cases + 1)
        for share in (0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0):
            all_cases, shares = np.full_like(right, cases), np.full_like(right, share)
            at_most, at_least = binomial_tails(right, all_cases, shares)
            _same(at_most, scipy.stats.binom.cdf(right, cases, share))
            _same(at_least, scipy.stats.binom.sf(right - 1, cases, share))


def test_the_beta_distribution() -> None:
    for cases in (1, 2, 10, 97, 1094, 50_000):
        right = np.unique(np.linspace(0, cases, 50).round())
        a, b = np.maximum(right, 1), cases - right + 1
        for tail in (0.005, 0.025, 0.05):
            _same(beta_quantile(tail, a, b), scipy.stats.beta.ppf(tail, a, b))
            _same(beta_critical(tail, a, b), scipy.stats.beta.isf(tail, a, b))
