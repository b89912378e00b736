"""Agreement of raters: intraclass correlations of scores, Krippendorff's alpha and Gwet's AC1 of codes, the
majority of codes.

Shape letters: I items, K raters. A rating that was not given is nan.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from figlang.errors import FiglangError

Ratings = NDArray[np.float64]


@dataclass(frozen=True)
class Intraclass:
    """ICC(2,1), the reliability of one rater's scores, and ICC(2,k), that of the mean of `raters` raters'
    scores."""

    single: float
    average: float
    items: int
    raters: int
    ratings: int


def intraclass(ratings_IK: Ratings) -> Intraclass | None:
    """Two-way random effects (Shrout & Fleiss 1979, cases 2,1 and 2,k), also where ratings are missing.

    Variance components of items, raters and error come from least squares (Henderson's method III: items
    adjusted for raters, raters adjusted for items). Without missing ratings that is Shrout and Fleiss'
    formula exactly. None where it is undefined: fewer than two items or raters, parts of the table that no
    rater joins, no variance at all.
    """
    ratings_IK = ratings_IK[~np.isnan(ratings_IK).all(1)][:, ~np.isnan(ratings_IK).all(0)]
    items, raters = ratings_IK.shape
    item, rater = np.nonzero(~np.isnan(ratings_IK))
    scores = ratings_IK[item, rater]
    if items < 2 or raters < 2:
        return None
    items_NI, raters_NK = np.eye(items)[item], np.eye(raters)[rater]
    both = np.hstack([items_NI, raters_NK])
    rank = int(np.linalg.matrix_rank(both))
    left = len(scores) - rank
    if rank < items + raters - 1 or left < 1:
        return None
    error = _residual(both, scores)
    mean_error = error / left
    mean_items = (_residual(raters_NK, scores) - error) / (items - 1)
    mean_raters = (_residual(items_NI, scores) - error) / (raters - 1)
    of_items = (mean_items - mean_error) / (_effective(raters_NK, items_NI) / (items - 1))
    of_raters = (mean_raters - mean_error) / (_effective(items_NI, raters_NK) / (raters - 1))
    other = of_raters + mean_error
    if np.isclose(of_items + other, 0):
        return None
    single, average = of_items / (of_items + other), of_items / (of_items + other / raters)
    return Intraclass(float(single), float(average), items, raters, len(scores))


def _residual(design: Ratings, scores: Ratings) -> float:
    """Sum of squares that a design leaves unexplained."""
    fitted = design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    return float(((scores - fitted) ** 2).sum())


def _effective(adjusted_for: Ratings, effect: Ratings) -> float:
    """Expected contribution of a unit variance of `effect` to its sum of squares."""
    fitted = adjusted_for @ np.linalg.lstsq(adjusted_for, effect, rcond=None)[0]
    return float(((effect - fitted) ** 2).sum())


def alpha(codes_IK: Ratings, level: str = "nominal") -> float | None:
    """Krippendorff's alpha at a level of measurement (nominal, interval), by the package `krippendorff`.

    None where it is undefined: fewer than two codes in use, or no item with two ratings.

    Raises FiglangError if the package is not installed.
    """
    try:
        import krippendorff
    except ImportError as error:
        raise FiglangError("Krippendorff's alpha needs a package: pip install 'figlang[ratings]'") from error
    pairable = codes_IK[(~np.isnan(codes_IK)).sum(1) > 1]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=codes_IK.T, level_of_measurement=level))


def ac1(codes_IK: Ratings, categories: int) -> float | None:
    """Gwet's AC1 of nominal codes, also where ratings are missing (Gwet 2008, doi 10.1348/000711006X126600;
    for missing ratings Gwet 2014, Handbook of Inter-Rater Reliability, chapter 2).

    Chance agreement is small where nearly all codes are alike, so that AC1 stays high there and alpha and
    kappa do not.

    Args:
        codes_IK: a row for each item, a column for each rater; nan where there is no rating.
        categories: how many codes the raters could choose from, whether or not each was used.

    Returns:
        None where it is undefined: no item with two ratings, or fewer than two categories.
    """
    rated_IK = codes_IK[(~np.isnan(codes_IK)).any(1)]
    found = np.unique(rated_IK[~np.isnan(rated_IK)])
    counts_IC = np.array([[(row == code).sum() for code in found] for row in rated_IK], dtype=np.float64)
    raters_I = counts_IC.sum(1) if len(rated_IK) else np.zeros(0)
    several_I = raters_I > 1
    if not several_I.any() or categories < 2:
        return None
    agreeing_I = (counts_IC * (counts_IC - 1)).sum(1)[several_I] / (raters_I * (raters_I - 1))[several_I]
    share_C = (counts_IC / raters_I[:, None]).mean(0)
    chance = float((share_C * (1 - share_C)).sum()) / (categories - 1)
    return (float(agreeing_I.mean()) - chance) / (1 - chance)


def plurality(codes: Sequence[float]) -> float:
    """The code that most raters gave; nan if several codes were given equally often, or none."""
    counts = Counter(code for code in codes if not np.isnan(code)).most_common(2)
    return counts[0][0] if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]) else np.nan


def majority(codes: Sequence[float]) -> float:
    """The most frequent code; of several, the smallest (as the authors of Fig-QA, whose majority is a
    mode)."""
    counts = Counter(code for code in codes if not np.isnan(code))
    most = max(counts.values())
    return min(code for code, count in counts.items() if count == most)
