"""The variance that training seeds add to a system's mean.

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
    """The variance that seeds add to a mean over them. It is 0 for a single run.

    Attributes:
        variance: The variance that clusters do not show: `spread` less the interaction, at least 0.
        spread: The variance that the shares of the seeds show by themselves.
        freedom: Degrees of freedom of `spread`.
    """

    variance: float
    spread: float
    freedom: float

    @classmethod
    def of(cls, hits_SG: npt.ArrayLike, sizes_G: npt.ArrayLike) -> "Seeds":
        """Compute it from the hits of every seed in every cluster, (S, G), and the clusters' sizes, (G)."""
        hits, sizes = np.asarray(hits_SG, float), np.asarray(sizes_G, float)
        seeds, clusters = hits.shape
        if seeds == 1 or clusters == 1:
            return cls(0.0, 0.0, 1.0)
        shares_S = hits.sum(1) / sizes.sum()
        unlike_SG = hits - hits.mean(0) - (shares_S - shares_S.mean())[:, None] * sizes
        interaction = (unlike_SG**2).sum() / (seeds - 1) / sizes.sum() ** 2 * clusters / (clusters - 1)
        spread = float(shares_S.var(ddof=1))
        return cls(max(0.0, spread - float(interaction)) / seeds, spread / seeds, seeds - 1.0)


def freedom(ratios: Ratios, extra: Array, spreads: Sequence[Array], freedoms: Sequence[Array]) -> Array:
    """Degrees of freedom of the variances of clusters and seeds (Satterthwaite 1946, Biometrics Bull. 2).

    The variance that seeds add is the spread of a few seeds minus another estimate. It is as uncertain as the
    spread, also if the difference is near 0. Otherwise, two seeds that are alike by chance would seem to
    have a variance that is known to be 0.

    Args:
        ratios: Ratios whose cluster variance is the first part.
        extra: What seeds add to the variance of each ratio, (B).
        spreads: The spread of the seeds of each system in a ratio, (B).
        freedoms: Their degrees of freedom, (B).
    """
    clusters_B, free_B = ratios.variances, np.maximum(ratios.clusters - 1, 1)
    parts_B = clusters_B**2 / free_B + sum(
        spread**2 / free for spread, free in zip(spreads, freedoms, strict=True)
    )
    found_B = (clusters_B + extra) ** 2 / np.maximum(parts_B, np.finfo(float).tiny)
    return np.where(parts_B > 0, np.maximum(found_B, 1), free_B)
