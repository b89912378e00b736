"""What right answers go with (MUNCH: Tong et al. 2024, Tables 10 to 12): a quantity, or classes of an
attribute.

The paper names no test. `p` is that of a classical test, which takes cases as independent. Cases about one
sentence are not, so the interval and `p_clustered` beside it are over sentences
(`figlang.statistics.contrast`). `p_holm` corrects `p` for all tests of a family (Holm 1979), for which every
two classes are tested, and not only those that turned out highest and lowest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import stats

from figlang.statistics import comparison
from figlang.statistics.clustered import SHARE, Array, Support
from figlang.statistics.contrast import contrast
from figlang.statistics.metrics import Estimate, ratio
from figlang.types import Prediction


@dataclass(frozen=True)
class Case:
    """One answer: whether it is right, about which sentence (`group`), with the attributes of the item."""

    group: str
    right: bool
    attributes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Difference:
    """`high` minus `low`: a mean of right against wrong answers, or accuracies of two classes."""

    high: str
    low: str
    value: float
    interval: tuple[float, float]
    p: float
    p_clustered: float
    p_holm: float | None = None


@dataclass(frozen=True)
class Mean:
    """Of `n` values, None where there are none; `sd` is the sample standard deviation, None of a single
    value."""

    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True)
class Means:
    """A quantity over right and over wrong answers, and the difference of its means, if there are enough of
    both."""

    right: Mean
    wrong: Mean
    difference: Difference | None


def cases(predictions: Sequence[Prediction]) -> list[Case]:
    """Predictions with a known gold option as cases."""
    return [Case(row.group, bool(row.correct), row.attributes) for row in predictions if row.gold is not None]


def means(rows: Sequence[Case], quantity: str, test: str = "welch") -> Means:
    """A quantity of right against wrong answers, by Welch's t test or Mann and Whitney's; cases without the
    quantity are left out.

    With answers about fewer than two sentences on either side, or a single value on both, there is nothing to
    test.
    """
    known = [row for row in rows if quantity in row.attributes]
    values = np.array([float(row.attributes[quantity][0]) for row in known])
    right = np.array([row.right for row in known], bool)
    sides = [values[right], values[~right]]
    if any(_sentences([row for row in known if row.right is side]) < 2 for side in (True, False)) or all(
        len(set(side)) == 1 for side in sides
    ):
        return Means(_mean(sides[0]), _mean(sides[1]), None)
    found = stats.ttest_ind(*sides, equal_var=False) if test == "welch" else stats.mannwhitneyu(*sides)
    parts = np.stack([right, ~right], 1).astype(float)
    interval, clustered = _clustered(
        known, parts * values[:, None], parts, Support(values.min(), values.max())
    )
    value = float(sides[0].mean() - sides[1].mean())
    difference = Difference("right", "wrong", value, interval, float(found.pvalue), clustered)
    return Means(_mean(sides[0]), _mean(sides[1]), difference)


def share(rows: Sequence[Case]) -> Estimate:
    """The share of right answers."""
    sums_G2 = _by_group(rows, np.array([[row.right, 1] for row in rows], float))
    return ratio(list(sums_G2[:, 0]), list(sums_G2[:, 1]))


def pairs(classes: Mapping[str, Sequence[Case]], test: str = "chi2", least: int = 20) -> list[Difference]:
    """Shares of right answers of every two classes, the higher minus the lower, largest difference first.

    Classes with fewer than `least` cases, or about one sentence only, are not tested. Tests are of the table
    of right and wrong answers: chi-square without continuity correction (which is the two-sided z test of two
    proportions), with Yates's correction, or Fisher's exact test.
    """
    found = []
    for one, other in combinations(
        [name for name, rows in classes.items() if len(rows) >= least and _sentences(rows) > 1], 2
    ):
        high, low = sorted(
            (one, other), key=lambda name: _right(classes[name]) / len(classes[name]), reverse=True
        )
        rows = [*classes[high], *classes[low]]
        inside = np.array([[1, 0]] * len(classes[high]) + [[0, 1]] * len(classes[low]), float)
        interval, clustered = _clustered(rows, inside * [[row.right] for row in rows], inside)
        counts = [(_right(classes[name]), len(classes[name])) for name in (high, low)]
        value = counts[0][0] / counts[0][1] - counts[1][0] / counts[1][1]
        found.append(
            Difference(
                high, low, value, interval, _p([(right, n - right) for right, n in counts], test), clustered
            )
        )
    return sorted(found, key=lambda difference: -difference.value)


def holm(family: Sequence[Difference]) -> list[Difference]:
    """The differences with p-values that hold for all of them together (Holm 1979)."""
    return [
        replace(one, p_holm=p)
        for one, p in zip(family, comparison.holm([one.p for one in family]), strict=True)
    ]


def _right(rows: Sequence[Case]) -> int:
    return sum(row.right for row in rows)


def _sentences(rows: Sequence[Case]) -> int:
    """How many sentences the rows are about: a single one says nothing of others."""
    return len({row.group for row in rows})


def _mean(values: Array) -> Mean:
    n = len(values)
    return Mean(float(values.mean()) if n else None, float(values.std(ddof=1)) if n > 1 else None, n)


def _p(table: Sequence[tuple[int, int]], test: str) -> float:
    if 0 in (table[0][0] + table[1][0], table[0][1] + table[1][1]):  # all right, or all wrong
        return 1.0
    if test == "fisher":
        return float(stats.fisher_exact(table).pvalue)
    return float(stats.chi2_contingency(table, correction=test == "chi2_yates").pvalue)


def _by_group(rows: Sequence[Case], values_NK: Array) -> Array:
    """Sums over the cases of each group, (G, K)."""
    _, groups = np.unique([row.group for row in rows], return_inverse=True)
    summed_GK = np.zeros((groups.max() + 1, values_NK.shape[1]))
    np.add.at(summed_GK, groups, values_NK)
    return summed_GK


def _clustered(
    rows: Sequence[Case], hits_N2: Array, sizes_N2: Array, support: Support = SHARE
) -> tuple[tuple[float, float], float]:
    """95 % interval and two-sided p of the difference of two ratios over sentences."""
    return contrast(_by_group(rows, hits_N2), _by_group(rows, sizes_N2), support)
