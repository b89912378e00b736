"""Correlations with correctness and with the model's probability; the intervals respect clusters.

If all clusters say the same, for example if all points are on a line, there is no error to divide by. Then up
to 1 - 0.025 ** (1 / G) of further clusters may say the contrary, -1 or 1, as for a share without a failure
among G cases (Clopper & Pearson 1934, Biometrika 26). Interval and p follow from this. So neither is sure
where clusters are few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, exp, sqrt, tanh

import numpy as np
import scipy

from figlang.statistics.clustered import LEVEL, Array
from figlang.statistics.distributions import t_above, t_critical
from figlang.types import Prediction

Z = 1.959963984540054  # normal quantile of a 95 % interval
CHUNK = 1_000_000  # numbers that are computed at a time
ALL = 1e-12  # a correlation that is closer to 1 is one of points on a line


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its 95 % interval, two-sided p and the number of cases."""

    r: float
    low: float
    high: float
    p: float
    n: int


def probability(row: Prediction, option: int) -> float:
    """P(option | context) among the options of an item: the softmax of its scores (Liu et al. 2022, §4.1)."""
    top = max(row.scores)
    return exp(row.scores[option] - top) / sum(exp(score - top) for score in row.scores)


def replied(predictions: Sequence[Prediction]) -> bool:
    """Whether the scores come from letters in replies: 1 for the chosen option, 0 for the others.

    Such scores say what was chosen, but not how sure the system was. So their softmax is not a probability.
    """
    return all(score in (0, 1) for row in predictions for score in row.scores)


def pearson(x: Sequence[float], y: Sequence[float], groups: Sequence[str]) -> Correlation | None:
    """Pearson's r of two variables.

    If y holds only 0 and 1, this is the point-biserial correlation. Interval and p are of Fisher's z. Its
    variance is over groups, by linearisation. Student's t has one degree of freedom less than there are
    groups. Without any variance both are those of `_same`.

    Args:
        x: A number for each case.
        y: Another number for each case.
        groups: The cluster of each case.

    Returns:
        None if a variable is constant, or with fewer than three cases or groups.
    """
    return pearsons(np.asarray(x, float), np.asarray(y, float)[None], groups)[0]


def pearsons(x_N: Array, y_BN: Array, groups: Sequence[str]) -> list[Correlation | None]:
    """`pearson` of one variable with each of B others."""
    _, place_N = np.unique(np.asarray(groups), return_inverse=True)
    n, clusters = len(x_N), int(place_N.max()) + 1 if len(place_N) else 0
    correlations: list[Correlation | None] = [None] * len(y_BN)
    if min(n, clusters) < 3 or np.ptp(x_N) == 0:
        return correlations
    varied = np.flatnonzero(np.ptp(y_BN, axis=1))
    order_N = np.argsort(place_N, kind="stable")
    starts_G = np.searchsorted(place_N[order_N], np.arange(clusters))
    x_N = _standard(x_N[None, order_N])[0]
    size = max(1, CHUNK // n)
    for part in np.split(varied, range(size, len(varied), size)):
        y_PN = _standard(y_BN[np.ix_(part, order_N)])
        r_P = np.clip((x_N * y_PN).mean(1), -1, 1)
        line_P = 1 - np.abs(r_P) < ALL  # points on a line leave no variance, and their z is infinite
        influence_PN = x_N * y_PN - r_P[:, None] * (x_N**2 + y_PN**2) / 2
        influence_PG = np.add.reduceat(influence_PN, starts_G, axis=1) / n
        inside_P = np.where(line_P, 0.0, r_P)
        error_P = np.sqrt(clusters / (clusters - 1) * (influence_PG**2).sum(1)) / (1 - inside_P**2)
        z_P, reach_P = np.arctanh(inside_P), t_critical(0.025, clusters - 1) * error_P
        same_P = line_P | (error_P < ALL)
        p_P = 2 * t_above(np.abs(z_P) / np.where(same_P, 1.0, error_P), clusters - 1)
        usual = (np.tanh(z_P - reach_P), np.tanh(z_P + reach_P), p_P)
        ends = (np.where(same_P, *both) for both in zip(_same(r_P, clusters), usual, strict=True))
        for place, r, low, high, p in zip(part, r_P, *ends, strict=True):
            correlations[place] = Correlation(float(r), float(low), float(high), float(p), n)
    return correlations


def _same(r_P: Array, clusters: int) -> tuple[Array, Array, Array]:
    """Low and high end of the interval, and p, of correlations that every cluster shows alike."""
    kept = (LEVEL / 2) ** (1 / clusters)
    p_P = np.minimum(1, 2 * (1 + np.abs(r_P)) ** -float(clusters))
    return -1 + (1 + r_P) * kept, 1 - (1 - r_P) * kept, p_P


def _standard(values_BN: Array) -> Array:
    # Centred first: otherwise sums of squares of numbers far from 0 would lose digits.
    return np.asarray((values_BN - values_BN.mean(1, keepdims=True)) / values_BN.std(1, keepdims=True))


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Spearman's rank correlation of independent cases, with interval and p after Bonett & Wright (2000).

    If the ranks are the same, or opposed, interval and p are those of `_same`.

    Returns:
        None if a variable is constant, or with fewer than four cases.
    """
    if len(x) < 4 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    r, n = float(scipy.stats.spearmanr(x, y).statistic), len(x)
    if 1 - abs(r) < ALL:
        low, high, p = (float(value[0]) for value in _same(np.array([r]), n))
        return Correlation(r, low, high, p, n)
    error = sqrt((1 + r**2 / 2) / (n - 3))
    p = 2 * float(scipy.stats.norm.sf(abs(atanh(r)) / error))
    return Correlation(r, tanh(atanh(r) - Z * error), tanh(atanh(r) + Z * error), p, n)
