"""Figures of a report: systems side by side, calibration, reliance on the answer alone, learning curves,
frequent words."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from figlang.reports import learning
from figlang.reports.learning import Point
from figlang.reports.ranked import Line, ordered
from figlang.statistics.calibration import Calibration
from figlang.statistics.clustered import Array
from figlang.statistics.metrics import Estimate
from figlang.statistics.reliance import Reliance
from figlang.tables import drawing, lettering
from figlang.tables.drawing import FAINT, INK, MARKERS, MUTED, colour

# Log odds of the answers alone as in the paper's Figure 3, whose log-probabilities are means over tokens;
# sums reach further.
USUAL = (-2.0, 3.0)
SHOWN = 0.95  # of the points that these limits must hold to be kept
MOST = 25  # subjects, relations or objects that a panel shows


def unnamed(lines: Sequence[Line]) -> Any:
    """Many systems side by side, from the best to the last, without their names: a dot and an interval for
    each metric."""
    metrics = list(dict.fromkeys(metric for line in lines for metric in line.marks))
    shown = ordered(lines, metrics[0])

    def paint(_: Any, axes: Any) -> None:
        ends = []
        for place, metric in enumerate(metrics):
            marked = [
                (rank, line.marks[metric]) for rank, line in enumerate(shown, 1) if metric in line.marks
            ]
            ranks, shares = [rank for rank, _ in marked], [one.value for _, one in marked]
            axes.vlines(
                ranks,
                [one.value if one.low is None else one.low for _, one in marked],
                [one.value if one.high is None else one.high for _, one in marked],
                colour(place),
                linewidth=0.8,
            )
            axes.plot(ranks, shares, MARKERS[place], color=colour(place), markersize=2.5)
            ends.append((len(lines), shares[-1], metric, colour(place)))
            if (chance := getattr(marked[0][1], "chance", None)) is not None:
                axes.axhline(chance, color=colour(place), linewidth=0.9, linestyle=":")
        axes.set_xlim(0, len(lines) + 1)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        axes.set_xlabel(f"rank by {metrics[0]}")
        drawing.label_ends(axes, ends)

    return drawing.drawn(6.4, 3.6, paint)


PANEL = 2.7  # inches of the width of a panel among several
TITLE = 150.0  # points that a line of a title above a panel may have


def _wrapped(name: str, lines: int = 3) -> str:
    return lettering.wrapped(name, TITLE, lines=lines)


def apart(plot: Callable[..., Any], found: Sequence[Any]) -> tuple[Any, ...]:
    """The panels of `calibration` or `reliance` as separate figures."""
    return tuple(plot([one], place) for place, one in enumerate(found))


def calibration(found: Sequence[tuple[str, Calibration]], first: int = 0) -> Any:
    """Accuracy by confidence, with a panel for each system.

    Bins have the same number of items, and 95 % intervals. The dotted line is perfect calibration. `first` is
    the position of the first system among all; it gives the colour.
    """
    lowest = min(0.5, min(x for _, each in found for x, _ in each.bins))

    def paint(_: Any, all_axes: Any) -> None:
        for place, ((name, each), axes) in enumerate(zip(found, np.atleast_1d(all_axes), strict=True), first):
            axes.plot((0, 1), (0, 1), color=MUTED, linewidth=0.9, linestyle=":")
            x, estimates = zip(*each.bins, strict=True)
            y = [estimate.value for estimate in estimates]
            error = [[one.value - one.low for one in estimates], [one.high - one.value for one in estimates]]
            axes.errorbar(
                x,
                y,
                error,
                color=colour(place),
                marker="o",
                markersize=4,
                linewidth=1.4,
                elinewidth=0.8,
                clip_on=False,
            )
            axes.set_xlim(lowest - 0.02, 1)
            axes.set_ylim(0, 1)
            axes.set_title(
                f"{_wrapped(name)}\nECE {each.ece:.3f}", fontsize=8, loc="left", color=colour(place)
            )
            axes.set_xlabel("probability of the choice")
        np.atleast_1d(all_axes)[0].set_ylabel("accuracy")

    return drawing.drawn(max(3.4, PANEL * len(found)), 3.2, paint, panels=len(found))


def reliance(found: Sequence[tuple[str, Reliance]], first: int = 0) -> Any:
    """Figure 3 of Liu et al. 2022: the probability of the first answer given the metaphor, over its log odds
    without the metaphor. Points beyond the limits are drawn on the edge. The regression uses their real
    positions.
    """

    def paint(_: Any, all_axes: Any) -> None:
        for place, ((name, each), axes) in enumerate(zip(found, np.atleast_1d(all_axes), strict=True), first):
            x, y = (np.array(values) for values in zip(*each.points, strict=True))
            low, high = limits(x)
            axes.plot(np.clip(x, low, high), y, ".", color=colour(place), markersize=3, alpha=0.45)
            if np.ptp(x) > 0:
                slope, height = np.polyfit(x, y, 1)
                ends = np.array((low, high))
                axes.plot(ends, height + slope * ends, color=INK, linewidth=1.4)
            axes.axhline(0.5, color=FAINT, linewidth=0.8)
            axes.axvline(0, color=FAINT, linewidth=0.8)
            axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
            axes.set_ylim(-0.02, 1.02)
            r = (
                ""
                if each.correlation is None
                else f"\nr = {each.correlation.r:.2f} "
                f"({each.correlation.low:.2f} – {each.correlation.high:.2f})"
            )
            axes.set_title(_wrapped(name) + r, fontsize=8, loc="left", color=colour(place))
            axes.set_xlabel("log(P(y₁)/P(y₂))")
        np.atleast_1d(all_axes)[0].set_ylabel("P(y₁|x₁)")

    return drawing.drawn(max(3.4, PANEL * len(found)), 3.2, paint, panels=len(found))


def limits(x: Array) -> tuple[float, float]:
    """The paper's limits. If too many points are beyond them, limits that hold nearly all points."""
    low, high = USUAL
    if ((x >= low) & (x <= high)).mean() >= SHOWN:
        return USUAL
    reach = float(np.ceil(np.quantile(np.abs(x), SHOWN)))
    return -reach, reach


def learning_curve(series: Mapping[str, Sequence[Point]]) -> Any:
    """Accuracy and pair accuracy over the number of training items; small marks are seeds, lines their means.

    Bars are 95 % intervals over pairs for one seed, and ± one standard deviation for several seeds.
    """

    def paint(_: Any, axes: Any) -> None:
        ends: list[tuple[float, float, str, str]] = []
        for name, points in series.items():
            for metric in ("accuracy", "pair accuracy"):
                measured = [(point, point.metrics[metric]) for point in points if metric in point.metrics]
                if measured:
                    place, label = len(ends), f"{_wrapped(name, 2)}\n{metric}" if len(series) > 1 else metric
                    end = _curve(axes, measured, place)
                    ends.append((*end, label, colour(place)))
        ticks = sorted({point.items for points in series.values() for point in points})
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{items:,}" for items in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("training items (dotted: chance)")
        axes.set_ylabel("share right")
        drawing.label_ends(axes, ends)

    named = max((_wrapped(name, 2).count("\n") + 2 for name in series), default=1)
    return drawing.drawn(5.4, max(3.4, 1 + 0.32 * named * len(series)), paint)


def _curve(axes: Any, measured: Sequence[tuple[Point, Sequence[Estimate]]], place: int) -> tuple[int, float]:
    """Draw one metric of one model, and return the end of its line."""
    x = [point.items for point, _ in measured]
    y = [float(np.mean([one.value for one in each])) for _, each in measured]
    bars = np.array([_reach(each) for _, each in measured]).T
    axes.errorbar(
        x,
        y,
        bars,
        color=colour(place),
        marker=MARKERS[place % len(MARKERS)],
        markersize=5,
        linewidth=1.6,
        elinewidth=0.9,
        capsize=2,
    )
    for point, each in measured:
        if len(each) > 1:
            shares = [one.value for one in each]
            axes.plot([point.items] * len(each), shares, ".", color=colour(place), markersize=3)
    chance = measured[0][1][0].chance
    if chance is not None:
        axes.axhline(chance, color=colour(place), linewidth=0.8, linestyle=":")
    return x[-1], y[-1]


def learning_curve_beside(folder: Path) -> None:
    """Draw the learning curve of the run in `folder` and the runs beside it, if they form one, as SVG and
    PNG."""
    if found := learning.around(folder):
        name = f"learning-curve-{next(iter(found))}-{learning.recipe_of(folder)[:6]}"
        drawing.save(learning_curve(found), folder.parent.parent / name, ("svg", "png"))


def _reach(estimates: Sequence[Estimate]) -> tuple[float, float]:
    if len(estimates) == 1:
        return estimates[0].value - estimates[0].low, estimates[0].high - estimates[0].value
    deviation = float(np.std([one.value for one in estimates], ddof=1))
    return deviation, deviation


def frequencies(counts: Mapping[str, Mapping[str, int]]) -> Any:
    """Figure 1 of Liu et al. 2022: the most frequent subjects, relations and objects."""
    widths = [
        lettering.widest([f"{_cut(words)}  {found[words]}" for words in list(found)[:MOST]], 7)
        for found in counts.values()
    ]
    # A bar has two fifths of a panel, its words the rest.
    panel = max(2.2, 0.35 + max(widths, default=0.0) / 72 / 0.6)

    def paint(_: Any, all_axes: Any) -> None:
        for place, (axes, (part, found)) in enumerate(zip(all_axes, counts.items(), strict=True)):
            shown = list(found.items())[:MOST]
            axes.barh(range(len(shown)), [count for _, count in shown], color=colour(place), height=0.7)
            for y, (words, count) in enumerate(shown):
                axes.annotate(
                    f"{_cut(words)}  {count}",
                    (count, y),
                    (3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                )
            axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
            axes.set_xlim(0, 2.5 * max((count for _, count in shown), default=1))
            axes.set_yticks([])
            axes.set_title(f"{part}s, {len(found):,} different", fontsize=9, loc="left", color=colour(place))
            axes.spines["left"].set_visible(False)

    return drawing.drawn(panel * len(counts), 0.8 + 0.17 * MOST, paint, panels=len(counts))


def _cut(words: str) -> str:
    return lettering.wrapped(words, 110, 7, lines=1)
