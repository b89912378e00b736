"""The one rule for intervals and tests: a score test of a ratio over clusters.

A share is a ratio of sums over clusters: hits over sizes. A paired difference is such a ratio with hits that
may be negative. The interval holds all values that the test does not reject. Items of a cluster depend on
each other, in either direction. So only clusters are treated as independent.

The test of a value v finds the likeliest distribution of clusters whose ratio is v. This is empirical
likelihood (Owen 1990) on bounded values. To the clusters that were seen, it adds one that is all wrong and
one that is all right. These two have weight only if v cannot be reached without them. The statistic is the
squared distance of the ratio from v, divided by its variance under that distribution times k / (k - 1) for k
clusters. It is compared with Student's t, with k - 1 degrees of freedom (Cameron & Miller 2015).

If every cluster is one item, the test of a paired difference is McNemar's test without a continuity
correction (McNemar 1947), and its interval is that of Tango (1998), but with t in place of the normal
distribution, and with that factor. Exact tests of differences reject too seldom (Fagerland, Lydersen & Laake
2013). A share of independent cases has the exact binomial test and its interval (Clopper & Pearson 1934).
Near 0 and 1, the interval of the score test (Wilson 1927) holds the share in only 91 % of the cases.

Shape letters: B statistics, E ends of intervals, K kinds of clusters (equal hits, equal size), with the
number of clusters of each kind.

References: Wilson (1927), J. Am. Stat. Assoc. 22. Clopper & Pearson (1934), Biometrika 26. McNemar (1947),
Psychometrika 12. Owen (1990), Ann. Stat. 18. Tango (1998), Stat. Med. 17. Fagerland, Lydersen & Laake (2013),
BMC Med. Res. Methodol. 13:91. Cameron & Miller (2015), J. Hum. Resour. 50.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from figlang.statistics import distributions

Array = npt.NDArray[np.float64]

FEW = 10  # with fewer clusters, an interval is not to be trusted
LEVEL = 0.05
STEPS = 60  # most steps of the search for a root; Newton's method takes about six
CHUNK = 500_000  # kinds of clusters that are weighed at a time; this limits the memory to about 50 MB
FARTHEST = 1e6  # standard errors; a root cannot be searched for between a number and infinity
SMALLEST = 1e-12  # a smaller weight, distance or variance counts as zero


@dataclass(frozen=True)
class Support:
    """The range of a case's value, and how far an unseen cluster may be from the ratio.

    A cluster of m cases is at most m ** `power` of these cases away. For one system, every case of a cluster
    may be wrong, so the power is 1. But two systems are seldom opposed on every case of a cluster, and a
    power of 1 would reject far too seldom where they seldom differ. In simulations, 2/3 keeps the level for
    clusters of 1 to 6 cases (`tests/statistics/test_clustered_simulations.py`).

    Attributes:
        low: Least value of a case.
        high: Largest value of a case.
        power: See above.
    """

    low: float
    high: float
    power: float = 1.0


SHARE, DIFFERENCE = Support(0.0, 1.0), Support(-1.0, 1.0, 2 / 3)


@dataclass(frozen=True)
class Ratios:
    """B ratios of sums over clusters, each from kinds of clusters.

    Attributes:
        counts: Clusters of each kind, (B, K). Kinds of count 0 fill up rows.
        hits: Hits of one cluster of each kind, (B, K).
        sizes: Cases of one cluster of each kind, (B, K).
        support: Range of a case's value.
        extra: Variance of each ratio from another source than clusters, for example training seeds, (B).
        freedom: Degrees of freedom of both variances together, (B).
    """

    counts: Array
    hits: Array
    sizes: Array
    support: Support = SHARE
    extra: Array | None = None
    freedom: Array | None = None

    @classmethod
    def of(
        cls, hits: Sequence[float] | Array, sizes: Sequence[float] | Array, support: Support = SHARE
    ) -> "Ratios":
        """Make one ratio from the hits and the size of every cluster."""
        kinds, counts = np.unique(
            np.column_stack([np.asarray(hits, float), np.asarray(sizes, float)]), axis=0, return_counts=True
        )
        return cls(counts.astype(float)[None], kinds[None, :, 0], kinds[None, :, 1], support)

    @classmethod
    def stacked(cls, ratios: Sequence["Ratios"]) -> "Ratios":
        """Put several ratios together. All have the support of the first."""
        most = max(ratio.counts.shape[1] for ratio in ratios)

        def padded(name: str) -> Array:
            parts = [getattr(ratio, name) for ratio in ratios]
            return np.concatenate([np.pad(part, ((0, 0), (0, most - part.shape[1]))) for part in parts])

        return cls(padded("counts"), padded("hits"), padded("sizes"), ratios[0].support)

    @property
    def clusters(self) -> Array:
        return np.asarray(self.counts.sum(1))

    @property
    def values(self) -> Array:
        return np.asarray((self.counts * self.hits).sum(1) / (self.counts * self.sizes).sum(1))

    @property
    def variances(self) -> Array:
        """The cluster-robust variance of each ratio by linearisation; infinite for one cluster.

        It does not contain `extra`.
        """
        residuals_BK = self.hits - self.values[:, None] * self.sizes
        clusters_B = self.clusters
        correction_B = clusters_B / np.maximum(clusters_B - 1, SMALLEST)
        sums_B = (self.counts * residuals_BK**2).sum(1)
        return np.asarray(correction_B * sums_B / (self.counts * self.sizes).sum(1) ** 2)

    def p(self, values: float | Array) -> Array:
        """Two-sided p that each ratio is the given value, (B)."""
        values_B = np.broadcast_to(np.asarray(values, float), self.clusters.shape)
        squared_B = np.zeros(len(values_B))
        for rows in self._dependent_parts():
            squared_B[rows] = self._rows(rows)._statistic(values_B[rows])
        p_B = 2 * distributions.t_above(np.sqrt(squared_B), self._free)
        exact = self._independent
        right_B = (self.counts * self.hits).sum(1)
        tails_B = np.minimum(
            *distributions.binomial_tails(right_B[exact], self.clusters[exact], values_B[exact])
        )
        p_B[exact] = np.minimum(1, 2 * tails_B)
        return p_B

    def intervals(self, level: float = LEVEL) -> tuple[Array, Array]:
        """The lowest and the highest value of each ratio that `p` does not reject at the level, each (B)."""
        low_B, high_B = np.zeros(len(self.counts)), np.ones(len(self.counts))
        for rows in self._dependent_parts():
            low_B[rows], high_B[rows] = self._rows(rows)._ends(level)
        right_B, wrong_B = (self.counts * self.hits).sum(1), (self.counts * (self.sizes - self.hits)).sum(1)
        # A beta distribution needs a success for its lower end and a failure for its upper end; otherwise the
        # end is the edge.
        exact_low_B = np.where(
            right_B > 0, distributions.beta_quantile(level / 2, np.maximum(right_B, 1), wrong_B + 1), 0
        )
        exact_high_B = np.where(
            wrong_B > 0, distributions.beta_critical(level / 2, right_B + 1, np.maximum(wrong_B, 1)), 1
        )
        return np.where(self._independent, exact_low_B, low_B), np.where(
            self._independent, exact_high_B, high_B
        )

    def _rows(self, rows: npt.NDArray[np.int64]) -> "Ratios":
        parts = ("counts", "hits", "sizes", "extra", "freedom")
        arrays = {name: getattr(self, name) for name in parts}
        return replace(self, **{name: values[rows] for name, values in arrays.items() if values is not None})

    def _dependent_parts(self) -> list[npt.NDArray[np.int64]]:
        """The rows that are computed at a time: all but those that a binomial answers."""
        rows = np.flatnonzero(~self._independent)
        size = max(1, CHUNK // self.counts.shape[1])
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    @property
    def _independent(self) -> npt.NDArray[np.bool_]:
        """Which ratios are shares of independent cases.

        In these, each cluster is one case, right or wrong, and there is no `extra`.
        """
        if self.support != SHARE or self.extra is not None:
            return np.zeros(len(self.counts), bool)
        one_BK = (self.sizes == 1) & ((self.hits == 0) | (self.hits == 1))
        return np.asarray((one_BK | (self.counts == 0)).all(1))

    @property
    def _free(self) -> Array:
        return np.maximum(self.clusters - 1, 1) if self.freedom is None else self.freedom

    def _ends(self, level: float) -> tuple[Array, Array]:
        """Both ends of every interval: the values at which the statistic reaches its critical value."""
        # It takes as long to import as ten items to answer: help and refusals need none and are quick.
        from scipy.optimize import elementwise

        critical_B = distributions.t_critical(level / 2, self._free)
        rows_E = np.tile(np.arange(len(self.counts)), 2)
        inside_E, outside_E = (
            np.tile(self.values, 2),
            np.repeat([self.support.low, self.support.high], len(self.counts)),
        )

        def beyond(values: Array, rows: npt.NDArray[np.int64]) -> Array:
            roots = np.sqrt(self._rows(rows)._statistic(values))
            return np.asarray(np.minimum(roots, FARTHEST) - critical_B[rows])

        ends_E = outside_E.astype(float)
        crossed_E = (beyond(outside_E, rows_E) > 0) & (inside_E != outside_E)
        if crossed_E.any():
            crossings = elementwise.find_root(
                beyond,
                (inside_E[crossed_E], outside_E[crossed_E]),
                args=(rows_E[crossed_E],),
                tolerances={"xatol": 1e-10, "xrtol": 0, "fatol": 1e-10, "frtol": 0},
            )
            ends_E[crossed_E] = crossings.x
        low_B, high_B = np.split(ends_E, 2)
        return low_B, high_B

    def _statistic(self, values_B: Array) -> Array:
        """The squared distance of each ratio from a value, over its variance if that value is true."""
        clusters_B = self.clusters
        off_BK = self.hits - values_B[:, None] * self.sizes
        total_B = (self.counts * off_BK).sum(1)
        items_B, squares_B = ((self.counts * self.sizes**power).sum(1) for power in (1, 2))
        up_B = total_B >= 0
        # Weight has to move towards a cluster that is all wrong or all right. Its size is that of the cluster
        # of a random case.
        reach_B = np.where(up_B, values_B - self.support.low, self.support.high - values_B)
        edge_B = reach_B * (squares_B / items_B) ** self.support.power
        variance_B = _tilted_variance(self.counts, off_BK * np.where(up_B, 1.0, -1.0)[:, None], -edge_B)
        within_B = variance_B * clusters_B / items_B**2 * clusters_B / np.maximum(clusters_B - 1, SMALLEST)
        distance_B = (total_B / items_B) ** 2
        all_B = within_B if self.extra is None else within_B + self.extra
        # A value at the edge of the range leaves no variance.
        return np.where(distance_B == 0, 0.0, distance_B / np.maximum(all_B, SMALLEST))


def _tilted_variance(counts_BK: Array, off_BK: Array, edge_B: Array) -> Array:
    """The variance under the likeliest distribution of mean 0 on the values `off_BK` and `edge_B`.

    The mean of `off_BK` is >= 0, and `edge_B` is <= 0. By Lagrange's condition, a value that was seen has the
    weight count / (1 + tilt * value). The tilt is the root of the mean. If the mean is still positive at the
    largest tilt for which no weight is negative, the edge gets the missing weight.
    """
    least_B = np.where(counts_BK > 0, off_BK, 0).min(1)
    most_B = 1 / np.maximum(-np.minimum(edge_B, least_B), SMALLEST)

    def shares(tilt_B: Array) -> Array:
        return np.asarray(1 / np.maximum(1 + tilt_B[:, None] * off_BK, SMALLEST))

    unseen_B = (edge_B < least_B) & ((counts_BK * shares(most_B) * off_BK).sum(1) > 0)
    tilt_B, low_B, high_B = np.zeros_like(most_B), np.zeros_like(most_B), most_B
    unit_B = 1 / np.maximum(np.abs(off_BK).max(1), SMALLEST)
    for _ in range(STEPS):
        tilted_BK = shares(tilt_B) * off_BK
        mean_B, slope_B = (counts_BK * tilted_BK).sum(1), (counts_BK * tilted_BK**2).sum(1)
        low_B, high_B = np.where(mean_B > 0, tilt_B, low_B), np.where(mean_B > 0, high_B, tilt_B)
        newton_B = tilt_B + mean_B / np.maximum(slope_B, SMALLEST)
        next_B = np.where((low_B < newton_B) & (newton_B < high_B), newton_B, (low_B + high_B) / 2)
        moved_B, tilt_B = np.abs(next_B - tilt_B), next_B
        if np.all((moved_B <= 1e-10 * np.maximum(tilt_B, unit_B)) | unseen_B):
            break
    weights_BK = counts_BK * shares(np.where(unseen_B, most_B, tilt_B)) / counts_BK.sum(1)[:, None]
    missing_B = np.where(unseen_B, np.maximum(1 - weights_BK.sum(1), 0), 0)
    return np.asarray((weights_BK * off_BK**2).sum(1) + missing_B * edge_B**2)
