"""The drawings of MUNCH's Figures 3 and 8 (Tong et al. 2024), as SVG and PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from figlang.tables import drawing
from figlang.tables.drawing import MUTED, SERIES
from figlang.tasks.munch.similarity import PAIRS

SUFFIXES = ("svg", "png")


def similarity(cosines: Sequence[Mapping[str, float]], name: str, path: Path) -> None:
    """Densities of the cosine similarities of the three pairs (Figure 3); nothing is drawn if there are fewer
    than three triples, or if all are alike."""
    values = {pair: np.array([one[pair] for one in cosines]) for pair in PAIRS}
    if len(cosines) < 3 or min(some.std() for some in values.values()) == 0:
        return
    low, high = min(some.min() for some in values.values()), max(some.max() for some in values.values())
    places = np.linspace(low - 0.15, min(high + 0.15, 1.05), 300)

    def paint(_: Any, axes: Any) -> None:
        for (pair, some), colour, line in zip(values.items(), SERIES, ("-", "--", ":"), strict=False):
            height = scipy.stats.gaussian_kde(some)(places)
            axes.plot(places, height, color=colour, linestyle=line, label=f"{pair}, mean {some.mean():.2f}")
            axes.fill_between(places, height, color=colour, alpha=0.12, linewidth=0)
        axes.set_xlabel(f"cosine similarity, {name}, {len(cosines)} triples")
        axes.set_ylabel("density")
        # The curves lie over each other, so that no label would find room at its own.
        axes.legend(frameon=False)

    drawing.save(drawing.drawn(6.4, 3.8, paint), path, SUFFIXES)


def novelty(by_genre: Mapping[str, Sequence[float]], path: Path) -> None:
    """Histograms of novelty, of all sentences and of each genre (Figure 8)."""
    overall, *genres = by_genre
    # Twentieths as they are written, so that a score on an edge goes into the bin above.
    edges = np.arange(np.floor(20 * min(by_genre[overall])), 20 * max(by_genre[overall]) + 1) / 20

    def paint(_: Any, panels: Any) -> None:
        panels[0].hist(by_genre[overall], bins=edges, color=MUTED, edgecolor="white", linewidth=0.4)
        panels[0].set_title(f"all genres, {len(by_genre[overall])} sentences", loc="left", fontsize=9)
        for genre, colour in zip(genres, SERIES, strict=False):
            label = f"{genre}, {len(by_genre[genre])}"
            panels[1].hist(
                by_genre[genre], bins=edges, histtype="step", linewidth=1.3, color=colour, label=label
            )
        panels[1].legend(frameon=False, fontsize=8)
        panels[0].set_ylabel("sentences")
        for axes in panels:
            axes.set_xlabel("novelty")

    drawing.save(drawing.drawn(8.4, 3.4, paint, panels=2), path, SUFFIXES)
