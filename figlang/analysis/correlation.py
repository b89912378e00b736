"""Correlations with correctness and with the model's probability, with intervals that respect pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, exp, sqrt, tanh

import numpy as np
from scipy.stats import norm, spearmanr
from scipy.stats import t as student

from figlang.types import Prediction

Z = 1.959963984540054  # of a 95 % interval
ALL = 1e-12  # how near to 1 a correlation is of points on a line


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


def pearson(x: Sequence[float], y: Sequence[float], groups: Sequence[str]) -> Correlation | None:
    """Pearson's r; with a y of 0 and 1 it is the point-biserial correlation. None where a variable is constant.

    Interval and p are of Fisher's z with a variance over groups, by linearisation, and Student's t of as many degrees of freedom as
    there are groups less one.
    """
    x_N, y_N = np.asarray(x, float), np.asarray(y, float)
    _, place_N = np.unique(np.asarray(groups), return_inverse=True)
    clusters = int(place_N.max()) + 1 if len(place_N) else 0
    if min(len(x_N), clusters) < 3 or np.ptp(x_N) == 0 or np.ptp(y_N) == 0:
        return None
    # Centred first: sums of squares of numbers far from 0 would lose their digits.
    x_N, y_N = ((each - each.mean()) / each.std() for each in (x_N, y_N))
    r = float(np.clip((x_N * y_N).mean(), -1, 1))
    if 1 - abs(r) < ALL:
        return Correlation(r, r, r, 0.0, len(x_N))
    influence_N = x_N * y_N - r * (x_N**2 + y_N**2) / 2
    influence_G = np.bincount(place_N, influence_N) / len(x_N) / (1 - r**2)
    error = sqrt(clusters / (clusters - 1) * float((influence_G**2).sum()))
    reach = float(student.isf(0.025, clusters - 1)) * error
    p = 2 * float(student.sf(abs(atanh(r)) / error, clusters - 1))
    return Correlation(r, tanh(atanh(r) - reach), tanh(atanh(r) + reach), p, len(x_N))


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Spearman's rank correlation of independent cases, interval and p after Bonett & Wright (2000). None where one is constant."""
    if len(x) < 4 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    r, n = float(spearmanr(x, y).statistic), len(x)
    if abs(r) >= 1:
        return Correlation(r, r, r, 0.0, n)
    error = sqrt((1 + r**2 / 2) / (n - 3))
    p = 2 * float(norm.sf(abs(atanh(r)) / error))
    return Correlation(r, tanh(atanh(r) - Z * error), tanh(atanh(r) + Z * error), p, n)
