"""The share that people would give all answers, from a judge's ratings of all and people's ratings of some.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, Science 382,
doi 10.1126/science.adi6000) with the power tuning of PPI++ (Angelopoulos, Duchi & Zrnic 2023,
arXiv 2311.01453). The judge moves people's mean on the answers that they rated: by the judge's mean over all
answers, minus that over the answers that people rated, times a slope. The slope is that of people's ratings
on the judge's. PPI++ writes the same estimate with the judge's mean over the other answers and the weight
`slope / (1 + n / N)`, for n rated and N other answers. A slope of 0 leaves people's mean, and a slope of 1
trusts the judge up to a constant.

Shape letters: N answers, G groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from figlang.statistics.distributions import t_critical

Array = NDArray[np.float64]
FEWEST = 3  # groups with ratings; with fewer there is neither a slope nor an interval


@dataclass(frozen=True)
class Corrected:
    """An estimate of people's mean over all answers, with a 95 % interval.

    Attributes:
        value: The estimate, within the scale.
        low: Lower end of the interval; nan with fewer than three groups of rated answers.
        high: Upper end.
        error: Standard error, over groups.
        slope: How far people's ratings move if the judge's move by 1; 0 if the judge does not count.
        rated: Number of answers that people rated.
        answers: Number of all answers.
        groups: Number of groups with a rated answer.
    """

    value: float
    low: float
    high: float
    error: float
    slope: float
    rated: int
    answers: int
    groups: int


def corrected(
    people_N: Array,
    judge_N: Array,
    groups: Sequence[str],
    support: tuple[float, float] = (0.0, 1.0),
    slope: float | None = None,
) -> Corrected | None:
    """Estimate people's mean over all answers.

    The answers that people rated must be a random part of all. An answer without a rating of the judge counts
    as the mean of the judge's ratings, which does not move the estimate.

    Args:
        people_N: People's rating of each answer, nan where there is none.
        judge_N: The judge's rating of each answer, on any scale.
        groups: The group of each answer. Groups are independent, answers of a group need not be.
        support: The least and the largest rating of people.
        slope: A slope that was fixed beforehand: 0 for people's mean alone, 1 as in PPI without tuning. None:
            the slope of people's ratings on the judge's, over the answers that people rated; 0 if they rated
            all.

    Returns:
        The estimate; None if people rated nothing.
    """
    rated_N = ~np.isnan(people_N)
    if not rated_N.any():
        return None
    count, known_N = int(rated_N.sum()), ~np.isnan(judge_N)
    judge_N = np.where(known_N, judge_N, judge_N[known_N].mean() if known_N.any() else 0.0)
    _, place_N = np.unique(np.asarray(groups), return_inverse=True)
    rated_groups = len(np.unique(place_N[rated_N]))
    tuned = slope is None
    if slope is None:
        # If people rated all answers, there is nothing to estimate.
        tell = rated_groups >= FEWEST and not rated_N.all()
        slope = _slope(people_N[rated_N], judge_N[rated_N]) if tell else 0.0
    rest_N = people_N - slope * judge_N
    # A line may lead out of the scale, where people have no rating.
    value = min(max(float(rest_N[rated_N].mean() + slope * judge_N.mean()), support[0]), support[1])
    influence_N = slope * (judge_N - judge_N.mean()) / len(judge_N)
    influence_N[rated_N] += (rest_N[rated_N] - rest_N[rated_N].mean()) / count
    freedom = rated_groups - 1 - (tuned and slope != 0)
    if freedom < 1:
        return Corrected(value, nan, nan, nan, slope, count, len(judge_N), rated_groups)
    variance = float((np.bincount(place_N, influence_N) ** 2).sum()) * rated_groups / freedom
    if slope and np.ptp(rest_N[rated_N]) < 1e-12:
        # If people and judge agree on all n answers, they may still differ on others: half a difference is
        # counted.
        variance += (support[1] - support[0]) ** 2 / (2 * count**2)
    low, high = _interval(value, variance, support, float(t_critical(0.025, freedom)), rated_groups)
    return Corrected(value, low, high, sqrt(variance), slope, count, len(judge_N), rated_groups)


def _slope(people: Array, judge: Array) -> float:
    """The least-squares slope; 0 for a judge who does not vary."""
    spread = float(judge.var())
    return (
        float(((people - people.mean()) * (judge - judge.mean())).mean()) / spread if spread > 1e-12 else 0.0
    )


def _interval(
    value: float, variance: float, support: tuple[float, float], reach: float, groups: int
) -> tuple[float, float]:
    """Wilson's interval of a share whose number of cases is the one that gives this variance (Korn & Graubard
    1998, Survey Methodology 24, with Wilson's in place of the exact interval).

    A symmetric interval of a share near 0 or 1 is too short and passes the end.
    """
    least, width = support[0], support[1] - support[0]
    share = min(max((value - least) / width, 0.0), 1.0)
    cases = share * (1 - share) * width**2 / variance if variance > 0 and 0 < share < 1 else float(groups)
    middle = (share + reach**2 / (2 * cases)) / (1 + reach**2 / cases)
    half = reach * sqrt(share * (1 - share) / cases + (reach / (2 * cases)) ** 2) / (1 + reach**2 / cases)
    return least + width * (middle - half), least + width * (middle + half)


def worth(estimate: Corrected, alone: Corrected) -> float | None:
    """How many ratings by people alone would give an interval as short as the corrected estimate's.

    Args:
        estimate: The corrected estimate.
        alone: People's mean on the same answers, with slope 0.

    Returns:
        The number of ratings; None without intervals or without variance.
    """
    if not (estimate.error > 0 and alone.error > 0):
        return None
    return alone.rated * (alone.error / estimate.error) ** 2
