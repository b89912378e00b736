"""Tails and quantiles of Student's t, the binomial and the beta distribution, without `scipy.stats`.

`scipy.stats` computes them by these same functions, so every digit is the same. But it takes a quarter of a
second to import, which is more than a small evaluation computes.
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
    at_most, more = _binomial()
    below = right - 1
    return (
        np.where(right >= cases, 1.0, at_most(np.minimum(right, cases - 1), cases, share)),
        np.where(below < 0, 1.0, more(np.maximum(below, 0), cases, share)),
    )


def _binomial() -> tuple[Any, Any]:
    """The distribution function of the binomial and what is left of it, of at least one case."""
    # Boost's functions have no public name. The incomplete beta function has one, and differs in the last
    # digit.
    functions = scipy.special._ufuncs
    if hasattr(functions, "_binom_cdf") and hasattr(functions, "_binom_sf"):
        return functions._binom_cdf, functions._binom_sf
    from scipy.stats import binom

    return binom.cdf, binom.sf


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
