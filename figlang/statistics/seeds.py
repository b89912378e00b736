"""What training seeds add to the variance of a system's mean.

Systems are sampled twice, by clusters and by seeds. The variances of a mean over two crossed samplings add
up, minus the part that both contain (Cameron, Gelbach & Miller 2011, J. Bus. Econ. Stat. 29). That part is
the interaction of clusters and seeds: it is in the variance of the seeds' accuracies and in that of the
clusters' means.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from figlang.statistics.clustered import Array, Ratios


@dataclass(frozen=True)
class Seeds:
    """The variance of a mean over seeds that clusters do not show, and its degrees of freedom.

    A single run has a variance of 0.
    """

    variance: float
    freedom: float

    @classmethod
    def of(cls, hits_SG: npt.ArrayLike, sizes_G: npt.ArrayLike) -> "Seeds":
        """Compute it from the hits of every seed in every cluster, (S, G), and the clusters' sizes, (G)."""
        hits, sizes = np.asarray(hits_SG, float), np.asarray(sizes_G, float)
        seeds, clusters = hits.shape
        if seeds == 1 or clusters == 1:
            return cls(0.0, 1.0)
        shares_S = hits.sum(1) / sizes.sum()
        unlike_SG = hits - hits.mean(0) - (shares_S - shares_S.mean())[:, None] * sizes
        interaction = (unlike_SG**2).sum() / (seeds - 1) / sizes.sum() ** 2 * clusters / (clusters - 1)
        return cls(float(max(0.0, shares_S.var(ddof=1) - interaction)) / seeds, seeds - 1.0)


def freedom(ratios: Ratios, extras: Sequence[Array], freedoms: Sequence[Array]) -> Array:
    """Degrees of freedom of a sum of variances (Satterthwaite 1946, Biometrics Bull. 2).

    Args:
        ratios: Ratios whose cluster variance is the first part.
        extras: Further variances of each ratio, (B).
        freedoms: Their degrees of freedom, (B).
    """
    clusters_B, free_B = ratios.variances, np.maximum(ratios.clusters - 1, 1)
    total_B = clusters_B + sum(extras)
    parts_B = clusters_B**2 / free_B + sum(
        extra**2 / free for extra, free in zip(extras, freedoms, strict=True)
    )
    return np.where(parts_B > 0, total_B**2 / np.maximum(parts_B, np.finfo(float).tiny), free_B)
