"""The drawings of MUNCH's Figures 3 and 8 (Tong et al. 2024), as SVG and PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde

from figlang.figures import canvas, save
from figlang.munch_similarity import PAIRS

COLOURS = ("#08519c", "#d94801", "#636363")


def similarity(cosines: Sequence[Mapping[str, float]], name: str, path: Path) -> None:
    """Densities of the cosine similarities of the three pairs (Figure 3); of fewer than three triples, or all alike, nothing."""
    values = {pair: np.array([one[pair] for one in cosines]) for pair in PAIRS}
    if len(cosines) < 3 or min(some.std() for some in values.values()) == 0:
        return
    low, high = min(some.min() for some in values.values()), max(some.max() for some in values.values())
    places = np.linspace(low - 0.15, min(high + 0.15, 1.05), 300)
    figure, axes = canvas().subplots(figsize=(6.4, 3.8), layout="constrained")
    for (pair, some), colour in zip(values.items(), COLOURS, strict=True):
        height = gaussian_kde(some)(places)
        axes.plot(places, height, color=colour, label=f"{pair}, mean {some.mean():.2f}")
        axes.fill_between(places, height, color=colour, alpha=0.15)
    axes.set_xlabel(f"cosine similarity, {name}, {len(cosines)} triples")
    axes.set_ylabel("density")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save(figure, path)


def novelty(by_genre: Mapping[str, Sequence[float]], path: Path) -> None:
    """Histograms of novelty, of all sentences above and of each genre below (Figure 8)."""
    overall, *genres = by_genre
    # Twentieths as they are written, so that a score on an edge goes into the bin above.
    edges = np.arange(np.floor(20 * min(by_genre[overall])), 20 * max(by_genre[overall]) + 1) / 20
    figure, rows = canvas().subplots(2, 1, figsize=(6.4, 5.4), sharex=True, layout="constrained")
    rows[0].hist(by_genre[overall], bins=edges, color="#9ecae1", edgecolor="white", linewidth=0.4)
    rows[0].set_title(f"all genres, {len(by_genre[overall])} sentences", loc="left", fontsize=9)
    for genre in genres:
        rows[1].hist(by_genre[genre], bins=edges, histtype="step", linewidth=1.3, label=f"{genre}, {len(by_genre[genre])}")
    rows[1].legend(frameon=False, fontsize=8)
    rows[1].set_xlabel("novelty")
    for axes in rows:
        axes.set_ylabel("sentences")
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)
