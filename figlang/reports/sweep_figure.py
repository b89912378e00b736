"""The figure of a sweep: the value that selects, by setting, with one line for each seed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from figlang.reports.sweeping import LOSS, Run, grouped, varying
from figlang.statistics.metrics import as_row
from figlang.tables import drawing
from figlang.tables.drawing import MARKERS


def draw(runs: Sequence[Run], path: Path) -> None:
    """Draw held-out loss, or accuracy if a run has no such loss, over the settings.

    Args:
        runs: Finished trainings.
        path: The file without suffix. SVG and PDF are written.
    """
    groups = grouped(runs)
    losses = all("loss" in run.selected for run in runs)
    labels = ["\n".join(setting) for setting in groups]
    seeds = sorted({run.seed for run in runs})

    def paint(_: Any, axes: Any) -> None:
        ends = []
        for place, seed in enumerate(seeds):
            points = [
                (x, _value(run, losses))
                for x, members in enumerate(groups.values())
                for run in members
                if run.seed == seed
            ]
            colour = drawing.colour(place)
            axes.plot(*zip(*points, strict=True), marker=MARKERS[place % len(MARKERS)], color=colour, lw=1)
            ends.append((*points[-1], f"seed {seed}", colour))
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(", ".join(varying(runs)))
        axes.set_ylabel(LOSS if losses else "accuracy")
        drawing.label_ends(axes, ends)

    lines = 1 + max(label.count("\n") for label in labels)
    drawing.save(
        drawing.drawn(max(4.0, 0.8 * len(labels) + 1.5), 2.6 + 0.15 * lines, paint), path, ("svg", "pdf")
    )


def _value(run: Run, losses: bool) -> float:
    if losses:
        return run.selected["loss"]
    estimate = as_row(run.content["metrics"], "accuracy")
    return float("nan") if estimate is None else estimate.value
