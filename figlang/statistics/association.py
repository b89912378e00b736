"""Which properties right answers go with: a quantity, or the classes of an attribute.

The tables are Tables 10 to 12 of Tong et al. (2024). The paper names no test. `p` comes from a
classical test, which treats cases as independent. But cases about one sentence depend on each other. So the
interval and `p_clustered` are over sentences (`figlang.statistics.contrast`). `p_holm` corrects `p` for all
tests of a family (Holm 1979). For that, every two classes are tested, not only the highest and the lowest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from figlang.statistics import comparison
from figlang.statistics.clustered import SHARE, Array, Support
from figlang.statistics.contrast import contrast
from figlang.statistics.metrics import Estimate, ratio
from figlang.types import Prediction


@dataclass(frozen=True)
class Case:
    """One answer: whether it is right, its sentence (`group`), and the attributes of its item."""

    group: str
    right: bool
    attributes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Contrast:
    """The value of `high` minus that of `low`.

    The values are means of a quantity over right and over wrong answers, or accuracies of two classes.

    Attributes:
        high: Name of the first side.
        low: Name of the second side.
        value: The difference.
        interval: Its 95 % interval over sentences.
        p: Two-sided p of a classical test over cases.
        p_clustered: Two-sided p over sentences.
        p_holm: `p`, corrected for a family of tests.
    """

    high: str
    low: str
    value: float
    interval: tuple[float, float]
    p: float
    p_clustered: float
    p_holm: float | None = None


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation of `n` values.

    The mean is None without values. The deviation is None with fewer than two.
    """

    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True)
class Means:
    """A quantity over right and over wrong answers.

    Attributes:
        right: Summary over right answers.
        wrong: Summary over wrong answers.
        difference: Right minus wrong; None if there are too few answers to test.
    """

    right: Summary
    wrong: Summary
    difference: Contrast | None


def cases(predictions: Sequence[Prediction]) -> list[Case]:
    """Turn predictions with a known gold option into cases."""
    return [Case(row.group, bool(row.correct), row.attributes) for row in predictions if row.gold is not None]


def means(rows: Sequence[Case], quantity: str, test: str = "welch") -> Means:
    """Compare a quantity between right and wrong answers.

    Cases without the quantity are left out. Nothing is tested if either side has answers about fewer than two
    sentences, or if both sides have a single value.

    Args:
        rows: The cases.
        quantity: An attribute that holds a number.
        test: "welch" for Welch's t test, otherwise Mann and Whitney's test.
    """
    known = [row for row in rows if quantity in row.attributes]
    values = np.array([float(row.attributes[quantity][0]) for row in known])
    right = np.array([row.right for row in known], bool)
    sides = [values[right], values[~right]]
    if any(_sentences([row for row in known if row.right is side]) < 2 for side in (True, False)) or all(
        len(set(side)) == 1 for side in sides
    ):
        return Means(_mean(sides[0]), _mean(sides[1]), None)
    tested = (
        scipy.stats.ttest_ind(*sides, equal_var=False)
        if test == "welch"
        else scipy.stats.mannwhitneyu(*sides)
    )
    parts = np.stack([right, ~right], 1).astype(float)
    interval, clustered = _clustered(
        known, parts * values[:, None], parts, Support(values.min(), values.max())
    )
    value = float(sides[0].mean() - sides[1].mean())
    difference = Contrast("right", "wrong", value, interval, float(tested.pvalue), clustered)
    return Means(_mean(sides[0]), _mean(sides[1]), difference)


def share(rows: Sequence[Case]) -> Estimate:
    """The share of right answers, with its interval over sentences."""
    sums_G2 = _by_group(rows, np.array([[row.right, 1] for row in rows], float))
    return ratio(list(sums_G2[:, 0]), list(sums_G2[:, 1]))


def pairs(classes: Mapping[str, Sequence[Case]], test: str = "chi2", least: int = 20) -> list[Contrast]:
    """Compare the shares of right answers between every two classes.

    Classes are not tested if they have fewer than `least` cases or are about a single sentence. The test is
    on the table of right and wrong answers.

    Args:
        classes: The cases of each class.
        test: "chi2" for chi-square without continuity correction (the two-sided z test of two proportions),
            "chi2_yates" for Yates's correction, "fisher" for Fisher's exact test.
        least: Fewest cases of a class.

    Returns:
        The higher share minus the lower for each two classes, largest difference first.
    """
    contrasts = []
    for first, second in combinations(
        [name for name, rows in classes.items() if len(rows) >= least and _sentences(rows) > 1], 2
    ):
        high, low = sorted(
            (first, second), key=lambda name: _right(classes[name]) / len(classes[name]), reverse=True
        )
        rows = [*classes[high], *classes[low]]
        inside = np.array([[1, 0]] * len(classes[high]) + [[0, 1]] * len(classes[low]), float)
        interval, clustered = _clustered(rows, inside * [[row.right] for row in rows], inside)
        counts = [(_right(classes[name]), len(classes[name])) for name in (high, low)]
        value = counts[0][0] / counts[0][1] - counts[1][0] / counts[1][1]
        contrasts.append(
            Contrast(
                high, low, value, interval, _p([(right, n - right) for right, n in counts], test), clustered
            )
        )
    return sorted(contrasts, key=lambda difference: -difference.value)


def holm(family: Sequence[Contrast]) -> list[Contrast]:
    """Add p values that are corrected for all these differences together (Holm 1979)."""
    return [
        replace(contrast, p_holm=p)
        for contrast, p in zip(family, comparison.holm([contrast.p for contrast in family]), strict=True)
    ]


def _right(rows: Sequence[Case]) -> int:
    return sum(row.right for row in rows)


def _sentences(rows: Sequence[Case]) -> int:
    """How many sentences the rows are about: a single sentence says nothing about others."""
    return len({row.group for row in rows})


def _mean(values: Array) -> Summary:
    n = len(values)
    return Summary(float(values.mean()) if n else None, float(values.std(ddof=1)) if n > 1 else None, n)


def _p(table: Sequence[tuple[int, int]], test: str) -> float:
    if 0 in (table[0][0] + table[1][0], table[0][1] + table[1][1]):  # all answers are right, or all are wrong
        return 1.0
    if test == "fisher":
        return float(scipy.stats.fisher_exact(table).pvalue)
    return float(scipy.stats.chi2_contingency(table, correction=test == "chi2_yates").pvalue)


def _by_group(rows: Sequence[Case], values_NK: Array) -> Array:
    """Sums over the cases of each group, (G, K)."""
    _, groups = np.unique([row.group for row in rows], return_inverse=True)
    summed_GK = np.zeros((groups.max() + 1, values_NK.shape[1]))
    np.add.at(summed_GK, groups, values_NK)
    return summed_GK


def _clustered(
    rows: Sequence[Case], hits_N2: Array, sizes_N2: Array, support: Support = SHARE
) -> tuple[tuple[float, float], float]:
    """The 95 % interval and two-sided p, over sentences, of the difference of two ratios."""
    return contrast(_by_group(rows, hits_N2), _by_group(rows, sizes_N2), support)
