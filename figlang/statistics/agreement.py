"""Agreement of raters (intraclass correlation, Krippendorff's alpha, Gwet's AC1, Cohen's kappa); majorities.

Shape letters: I items, K raters, N ratings, C codes. A missing rating is nan.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ratings = NDArray[np.float64]


@dataclass(frozen=True)
class Intraclass:
    """ICC(2,1) and ICC(2,k) of scores.

    Attributes:
        single: ICC(2,1), the reliability of one rater's scores.
        average: ICC(2,k), the reliability of the mean of `raters` raters' scores.
        items: Number of items with a rating.
        raters: Number of raters.
        ratings: Number of ratings.
    """

    single: float
    average: float
    items: int
    raters: int
    ratings: int


def intraclass(ratings_IK: Ratings) -> Intraclass | None:
    """Intraclass correlations with two-way random effects, also if ratings are missing.

    The variance components of items, raters and error come from least squares (Henderson's method III: items
    adjusted for raters, raters adjusted for items). Without missing ratings, the result equals the formula of
    Shrout & Fleiss (1979, cases 2,1 and 2,k).

    Args:
        ratings_IK: Scores, nan where there is no rating.

    Returns:
        The correlations. None if they are undefined: fewer than two items or raters, parts of the table that
            no rater connects, or no variance.
    """
    ratings_IK = ratings_IK[~np.isnan(ratings_IK).all(1)][:, ~np.isnan(ratings_IK).all(0)]
    items, raters = ratings_IK.shape
    if items < 2 or raters < 2:
        return None
    given_IK = ~np.isnan(ratings_IK)
    ratings = int(given_IK.sum())
    residual_freedom = ratings - (items + raters - 1)
    if residual_freedom < 1 or not _connected(given_IK):
        return None
    scores_IK = np.where(given_IK, ratings_IK - ratings_IK[given_IK].mean(), 0.0)
    error = _error(scores_IK, given_IK)
    mean_error = error / residual_freedom
    mean_items = (_within(scores_IK.T, given_IK.T) - error) / (items - 1)
    mean_raters = (_within(scores_IK, given_IK) - error) / (raters - 1)
    # A rater rates an item once at most. So a unit variance of items adds ratings - raters to the sum of
    # squares of items adjusted for raters, and one of raters adds ratings - items to the other sum.
    of_items = (mean_items - mean_error) * (items - 1) / (ratings - raters)
    of_raters = (mean_raters - mean_error) * (raters - 1) / (ratings - items)
    other_variance = of_raters + mean_error
    if np.isclose(of_items + other_variance, 0):
        return None
    single, average = of_items / (of_items + other_variance), of_items / (of_items + other_variance / raters)
    return Intraclass(float(single), float(average), items, raters, ratings)


def _connected(given_IK: NDArray[np.bool_]) -> bool:
    """Whether a chain of ratings leads from every item and rater to every other one."""
    from scipy.sparse import block_array, csr_array
    from scipy.sparse.csgraph import connected_components

    given = csr_array(given_IK)
    return bool(connected_components(block_array([[None, given], [given.T, None]]))[0] == 1)


def _within(scores_IK: Ratings, given_IK: NDArray[np.bool_]) -> float:
    """The sum of squares around the mean of each row. Scores are 0 where there is no rating."""
    means_I = scores_IK.sum(1) / given_IK.sum(1)
    return float((np.where(given_IK, scores_IK - means_I[:, None], 0.0) ** 2).sum())


def _error(scores_IK: Ratings, given_IK: NDArray[np.bool_]) -> float:
    """The sum of squares that the sum of an effect of the row and one of the column leaves.

    The effects of the shorter side solve the normal equations from which the other side is removed, so that
    no array is larger than the table.
    """
    if scores_IK.shape[0] < scores_IK.shape[1]:
        scores_IK, given_IK = scores_IK.T, given_IK.T
    counts_I, given = given_IK.sum(1), given_IK.astype(np.float64)
    shares_IK = given / counts_I[:, None]
    normal_KK = np.diag(given.sum(0)) - given.T @ shares_IK
    right_K = scores_IK.sum(0) - shares_IK.T @ scores_IK.sum(1)
    # A constant added to all effects changes nothing. 1 in each entry chooses effects whose sum is 0.
    effects_K = np.linalg.solve(normal_KK + 1, right_K)
    return _within(np.where(given_IK, scores_IK - effects_K, 0.0), given_IK)


def alpha(codes_IK: Ratings, level: str = "nominal") -> float | None:
    """Krippendorff's alpha: 1 - observed disagreement / disagreement by chance.

    Memory is that of the table, also for ratings of which each is another number. Source: Krippendorff
    (2011), Computing Krippendorff's Alpha-Reliability.

    Args:
        codes_IK: Codes, nan where there is no rating.
        level: Level of measurement: nominal or interval.

    Returns:
        Alpha. None if it is undefined: fewer than two codes in use, or no item with two ratings.
    """
    given_IK = ~np.isnan(codes_IK)
    pairable = given_IK.sum(1) > 1
    codes_IK, given_IK = codes_IK[pairable], given_IK[pairable]
    items_N, codes_N = np.nonzero(given_IK)[0], codes_IK[given_IK]
    used, places_N = np.unique(codes_N, return_inverse=True)
    if len(used) < 2:
        return None
    counts_I = given_IK.sum(1)
    of_pairs_I = counts_I / (counts_I - 1)
    if level == "interval":
        # The squared differences of all pairs of m numbers are m times their squared distances to the mean.
        means_I = np.where(given_IK, codes_IK, 0.0).sum(1) / counts_I
        seen = of_pairs_I @ (np.where(given_IK, codes_IK - means_I[:, None], 0.0) ** 2).sum(1)
        expected = ((codes_N - codes_N.mean()) ** 2).sum() * len(codes_N) / (len(codes_N) - 1)
        return 1 - float(seen / expected)
    _, first, alike = np.unique(items_N * len(used) + places_N, return_index=True, return_counts=True)
    seen = len(codes_N) - (alike * (alike - 1) / (counts_I[items_N[first]] - 1)).sum()
    each = np.bincount(places_N)
    expected = len(codes_N) - (each * (each - 1)).sum() / (len(codes_N) - 1)
    return 1 - float(seen / expected)


def ac1(codes_IK: Ratings, categories: int) -> float | None:
    """Gwet's AC1 of nominal codes, also if ratings are missing.

    Chance agreement is small if nearly all codes are alike. In that case AC1 stays high, but alpha and kappa
    do not. Sources: Gwet (2008), doi 10.1348/000711006X126600; for missing ratings Gwet (2014), Handbook of
    Inter-Rater Reliability, chapter 2.

    Args:
        codes_IK: Codes, nan where there is no rating.
        categories: How many codes the raters could choose from, used or not.

    Returns:
        AC1. None if it is undefined: no item with two ratings, or fewer than two categories.
    """
    rated_IK = codes_IK[(~np.isnan(codes_IK)).any(1)]
    used = np.unique(rated_IK[~np.isnan(rated_IK)])
    counts_IC = np.array([[(row == code).sum() for code in used] for row in rated_IK], dtype=np.float64)
    raters_I = counts_IC.sum(1) if len(rated_IK) else np.zeros(0)
    several_I = raters_I > 1
    if not several_I.any() or categories < 2:
        return None
    agreeing_I = (counts_IC * (counts_IC - 1)).sum(1)[several_I] / (raters_I * (raters_I - 1))[several_I]
    share_C = (counts_IC / raters_I[:, None]).mean(0)
    chance = float((share_C * (1 - share_C)).sum()) / (categories - 1)
    return (float(agreeing_I.mean()) - chance) / (1 - chance)


def kappa(one_I: Ratings, other_I: Ratings) -> float | None:
    """Cohen's kappa of two raters' nominal codes (Cohen 1960, doi 10.1177/001316446002000104).

    Args:
        one_I: Codes of a rater, nan where there is no rating.
        other_I: Codes of the other rater.

    Returns:
        Kappa on the items that both have rated. None if it is undefined: no such item, or both raters gave
            one and the same code to all.
    """
    both_I = ~np.isnan(one_I) & ~np.isnan(other_I)
    one_I, other_I = one_I[both_I], other_I[both_I]
    codes = np.union1d(one_I, other_I)
    if len(codes) < 2:
        return None
    chance = sum(float((one_I == code).mean() * (other_I == code).mean()) for code in codes)
    return (float((one_I == other_I).mean()) - chance) / (1 - chance)


def plurality(codes: Sequence[float]) -> float:
    """The code that most raters gave; nan if several codes are equally frequent, or if there is no code."""
    counts = Counter(code for code in codes if not np.isnan(code)).most_common(2)
    return counts[0][0] if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]) else np.nan


def majority(codes: Sequence[float]) -> float:
    """The most frequent code.

    Of equally frequent codes it is the smallest, as in Liu et al. (2022), whose majority is a mode.
    """
    counts = Counter(code for code in codes if not np.isnan(code))
    most = max(counts.values())
    return min(code for code, count in counts.items() if count == most)
