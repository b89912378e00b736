"""Tails and quantiles of Student's t, the binomial and the beta distribution, without `scipy.stats`.

`scipy.stats` computes them by these functions too, but takes a quarter of a second to import, which is more
than a small evaluation computes. The binomial differs from its in the last digits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

Array = npt.NDArray[np.float64]


def t_above(value: Any, free: Any) -> Array:
    """The probability that Student's t is above a value.

    Args:
        value: The value.
        free: Degrees of freedom.
    """
    return np.asarray(scipy.special.stdtr(free, -np.asarray(value, float)))


def t_critical(tail: float, free: Any) -> Array:
    """The value above which Student's t lies with a probability.

    Args:
        tail: The probability.
        free: Degrees of freedom.
    """
    return np.asarray(-scipy.special.stdtrit(free, tail))


def binomial_tails(right: Array, cases: Array, share: Array) -> tuple[Array, Array]:
    """The probabilities of at most, and of at least, so many right cases.

    Args:
        right: Right cases, whole numbers from 0 to `cases`.
        cases: All cases.
        share: The probability that a case is right.

    Returns:
        Both probabilities, each of the shape of `right`.
    """
    # By the incomplete beta function, whose parameters must be above 0.
    at_most = scipy.special.betaincc(right + 1, np.maximum(cases - right, 1), share)
    at_least = scipy.special.betainc(np.maximum(right, 1), cases - right + 1, share)
    return np.where(right >= cases, 1.0, at_most), np.where(right <= 0, 1.0, at_least)


def beta_quantile(below: float, a: Array, b: Array) -> Array:
    """The value below which the beta distribution lies with a probability.

    Args:
        below: The probability.
        a: First parameter, above 0.
        b: Second parameter, above 0.
    """
    return np.asarray(scipy.special.betaincinv(a, b, below))


def beta_critical(above: float, a: Array, b: Array) -> Array:
    """The value above which the beta distribution lies with a probability.

    Args:
        above: The probability.
        a: First parameter, above 0.
        b: Second parameter, above 0.
    """
    return np.asarray(scipy.special.betainccinv(a, b, above))
