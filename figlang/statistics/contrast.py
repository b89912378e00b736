"""The difference of two ratios that share clusters, for example the shares of two classes of items, and a
weighted sum of independent ratios, for example the mean over languages.

The interval is put together from the intervals of the ratios; the variances are recovered from their ends
(MOVER: Zou & Donner 2008, Stat. Med. 27, with the correlation of Zou 2007, Psychol. Methods 12). For
independent shares it is method 10 of Newcombe (1998, Stat. Med. 17) with exact ends. So a class that is
always right still has a width. p is the level at which an end of the interval reaches 0.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from figlang.statistics.clustered import LEVEL, SHARE, Array, Ratios, Support

LEAST = -20.0  # natural logarithm of p; smaller values are not told apart


def contrast(hits_G2: Array, sizes_G2: Array, support: Support = SHARE) -> tuple[tuple[float, float], float]:
    """Compare the first ratio of sums over clusters with the second.

    Args:
        hits_G2: Sum over the cases of each cluster, on each side.
        sizes_G2: Number of cases of each cluster, on each side; 0 if there are none.
        support: Range of a case's value.

    Returns:
        The 95 % interval of the first ratio minus the second, and its two-sided p.
    """
    kept = [
        (hits_G[sizes_G > 0], sizes_G[sizes_G > 0])
        for hits_G, sizes_G in zip(hits_G2.T, sizes_G2.T, strict=True)
    ]
    sides = Ratios.stacked([Ratios.of(hits_G, sizes_G, support) for hits_G, sizes_G in kept])
    values = sides.values
    influence_G2 = (hits_G2 - values * sizes_G2) / sizes_G2.sum(0)
    norms = np.sqrt((influence_G2**2).sum(0))
    shared = float(influence_G2.prod(1).sum() / norms.prod()) if norms.all() else 0.0
    difference = float(values[0] - values[1])

    def ends(level: float) -> tuple[float, float]:
        lows, highs = sides.intervals(level)
        below, above = values - lows, highs - values
        return difference - _reach(below[0], above[1], shared), difference + _reach(
            above[0], below[1], shared
        )

    return _tested(difference, ends)


def weighted_sum(
    ratios: Ratios, weights: Sequence[float], null: float = 0
) -> tuple[float, tuple[float, float], float]:
    """A weighted sum of ratios that share no clusters.

    Args:
        ratios: The ratios.
        weights: The weight of each ratio.
        null: The value of the sum that p tests.

    Returns:
        The sum, its 95 % interval, and its two-sided p.
    """
    values, weights_B = ratios.values, np.asarray(weights, float)
    total = float(weights_B @ values)

    def ends(level: float) -> tuple[float, float]:
        lows, highs = ratios.intervals(level)
        widths_B2 = np.column_stack([values - lows, highs - values]) * abs(weights_B)[:, None]
        # The upper end of a ratio with a negative weight belongs to the lower end of the sum.
        widths_B2[weights_B < 0] = widths_B2[weights_B < 0, ::-1]
        below, above = np.sqrt((widths_B2**2).sum(0))
        return total - null - float(below), total - null + float(above)

    (low, high), p = _tested(total - null, ends)
    return total, (low + null, high + null), p


def _tested(
    difference: float, ends: Callable[[float], tuple[float, float]]
) -> tuple[tuple[float, float], float]:
    """The ends at LEVEL, and the level at which an end reaches 0."""
    nearer = 0 if difference > 0 else 1

    def sign(exponent: float) -> float:
        return ends(float(np.exp(exponent)))[nearer]

    # Exact ends of few cases are apart even at level 1. A difference within them is not found at any level.
    if sign(0) * difference <= 0:
        return ends(LEVEL), 1.0
    if sign(LEAST) * difference >= 0:
        return ends(LEVEL), float(np.exp(LEAST))
    return ends(LEVEL), float(np.exp(scipy.optimize.brentq(sign, LEAST, 0, xtol=1e-6)))


def _reach(width: float, other_width: float, shared: float) -> float:
    return float(np.sqrt(max(0.0, width**2 + other_width**2 - 2 * shared * width * other_width)))
