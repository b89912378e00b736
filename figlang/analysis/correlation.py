"""Correlations with correctness and with the model's probability, with intervals that respect pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, exp, sqrt, tanh

import numpy as np
from scipy.stats import pearsonr, spearmanr

from figlang.metrics import resampled_sums
from figlang.types import Prediction

Z = 1.959963984540054  # of a 95 % interval


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its 95 % interval, two-sided p and the number of cases."""

    r: float
    low: float
    high: float
    p: float
    n: int


def probability(row: Prediction, option: int) -> float:
    """P(option | context) among the item's options: the softmax of its scores (Liu et al. 2022, §4.1)."""
    top = max(row.scores)
    return exp(row.scores[option] - top) / sum(exp(score - top) for score in row.scores)


def replied(predictions: Sequence[Prediction]) -> bool:
    """Whether scores come from letters in replies: the option that is named has 1 and the others 0.

    Such scores say what was chosen and not how sure the system was, so that their softmax is not a probability.
    """
    return all(score in (0, 1) for row in predictions for score in row.scores)


def pearson(x: Sequence[float], y: Sequence[float], groups: Sequence[str], seed: int = 0) -> Correlation | None:
    """Pearson's r; with a y of 0 and 1 it is the point-biserial correlation. None where a variable is constant.

    p takes cases as independent, as the paper's does; the interval resamples groups and is the safer guide.
    """
    x_N, y_N = np.asarray(x, float), np.asarray(y, float)
    if len(x_N) < 3 or np.ptp(x_N) == 0 or np.ptp(y_N) == 0:
        return None
    found = pearsonr(x_N, y_N)
    # Centred first: sums of squares of numbers far from 0 would lose their digits.
    x_N, y_N = x_N - x_N.mean(), y_N - y_N.mean()
    moments_N6 = np.column_stack([np.ones_like(x_N), x_N, y_N, x_N * x_N, y_N * y_N, x_N * y_N])
    _, place_N = np.unique(np.asarray(groups), return_inverse=True)
    sums_G6 = np.zeros((place_N.max() + 1, 6))
    np.add.at(sums_G6, place_N, moments_N6)
    n, sx, sy, sxx, syy, sxy = resampled_sums(sums_G6, seed).T
    spread = np.sqrt(np.maximum(n * sxx - sx**2, 0) * np.maximum(n * syy - sy**2, 0))
    resampled = (n * sxy - sx * sy)[spread > 0] / spread[spread > 0]
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Correlation(float(found.statistic), float(low), float(high), float(found.pvalue), len(x_N))


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Spearman's rank correlation of independent cases, its interval after Bonett & Wright (2000). None where one is constant."""
    if len(x) < 4 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    found = spearmanr(x, y)
    r, n = float(found.statistic), len(x)
    if abs(r) >= 1:
        return Correlation(r, r, r, float(found.pvalue), n)
    reach = Z * sqrt((1 + r**2 / 2) / (n - 3))
    return Correlation(r, tanh(atanh(r) - reach), tanh(atanh(r) + reach), float(found.pvalue), n)
