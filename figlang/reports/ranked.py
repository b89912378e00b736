"""The figure of systems side by side, from the best to the last, as large as its names and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from figlang.statistics.metrics import Estimate
from figlang.tables import Mean, drawing, lettering, text
from figlang.tables.drawing import FAINT, INK, MARKERS, MUTED

Share = Estimate | Mean
Kind = Literal["system", "untrained", "people", "published"]


@dataclass(frozen=True)
class Line:
    """A line of the figure.

    Attributes:
        name: Its name.
        marks: Its shares by metric.
        kind: What it is.
        group: Letters of the groups that it is in; no difference was found within a group.
        blind: Accuracy of the system with the context hidden, if it was measured.
        elsewhere: Whether it was measured on other items; its marks are hollow.
        note: Where it is from.
    """

    name: str
    marks: Mapping[str, Share]
    kind: Kind = "system"
    group: str = ""
    blind: Share | None = None
    elsewhere: bool = False
    note: str = ""


PAGE = 470.0  # points: width of a page; the scale takes the room beside names and numbers
SCALE = (130.0, 230.0)  # points of the width of the scale, at least and at most
NAMES = 150.0  # points that a line of a name may have
EDGE, GAP, LINE = 8.0, 9.0, 11.5  # points at the sides, between columns, and of a line of text
TWO = 30  # with more lines than this, each has the first metric only
SIZE = 8


def ordered(lines: Sequence[Line], metric: str) -> list[Line]:
    """Lines from the best to the last; those without the metric come last."""
    return sorted(lines, key=lambda line: -line.marks[metric].value if metric in line.marks else 1.0)


def systems(lines: Sequence[Line]) -> Any:
    """A dot and an interval for each system and metric, with its numbers and the letters of its groups.

    Hollow marks were measured on other items. A small stroke is accuracy with the context hidden. Dotted
    lines are chance.
    """
    metrics = list(dict.fromkeys(metric for line in lines for metric in line.marks))
    metrics = metrics if len(lines) <= TWO else metrics[:1]
    shown = ordered(lines, metrics[0])
    names = [lettering.wrapped(line.name, NAMES, SIZE) for line in shown]
    numbers = [[_number(line.marks.get(metric)) for metric in metrics] for line in shown]
    groups = [line.group for line in shown]
    left = EDGE + lettering.widest([*names, *(f"● {metric}" for metric in metrics), _blind_key(shown)], SIZE)
    right = lettering.widest([each for row in numbers for each in row], SIZE)
    letters = lettering.widest([*groups, "group" if any(groups) else ""], SIZE)
    beside = left + GAP + GAP + right + (GAP + letters if any(groups) else 0) + EDGE
    scale = min(SCALE[1], max(SCALE[0], PAGE - beside))
    width = beside + scale
    heights = [max(name.count("\n") + 1, len(metrics)) * LINE + 4 for name in names]
    keys = len(metrics) + bool(_blind_key(shown))
    above, below = EDGE + keys * LINE + 5, 34.0
    height = above + sum(heights) + below
    middles = np.cumsum(heights) - np.array(heights) / 2

    def paint(figure: Any) -> None:
        axes = figure.add_axes(
            ((left + GAP) / width, below / height, scale / width, sum(heights) / height), zorder=1
        )
        axes.set_xlim(0, 1)
        axes.set_ylim(sum(heights), 0)
        axes.set_yticks([])
        axes.set_xticks(np.linspace(0, 1, 6), [f"{share}" for share in range(0, 101, 20)])
        axes.set_xlabel("% (bars: 95 % intervals)")
        axes.spines["left"].set_visible(False)
        for place, metric in enumerate(metrics):
            _key(axes, f"{'●■▲◆'[place % 4]} {metric}", left, keys - place, drawing.colour(place))
            _chance(axes, [line.marks[metric] for line in shown if metric in line.marks], place, keys - place)
        if blind := _blind_key(shown):
            _key(axes, blind, left, 1, MUTED)
        for line, name, found, middle in zip(shown, names, numbers, middles, strict=True):
            _text(axes, name, (-GAP - left + EDGE, middle), INK if line.kind == "system" else MUTED)
            if line.group:
                _text(axes, line.group, (scale + 2 * GAP + right, middle), INK)
            for place, metric in enumerate(metrics):
                y = middle + (place - (len(metrics) - 1) / 2) * LINE
                if metric in line.marks:
                    _mark(axes, line, line.marks[metric], y, place)
                    _text(axes, found[place], (scale + GAP, y), drawing.colour(place))
            if line.blind is not None:
                y = middle - (len(metrics) - 1) / 2 * LINE
                axes.plot([line.blind.value] * 2, (y - 3.5, y + 3.5), color=MUTED, linewidth=1.2)
        for edge in np.cumsum(heights)[:-1]:
            axes.axhline(edge, color=FAINT, linewidth=0.4)

    return drawing.placed(width, height, paint)


def _number(share: Share | None) -> str:
    return "" if share is None else text(share)


def _blind_key(lines: Sequence[Line]) -> str:
    return "| context hidden" if any(line.blind is not None for line in lines) else ""


def _mark(axes: Any, line: Line, share: Share, y: float, place: int) -> None:
    """The dot of a share and its interval, if it has one."""
    colour = drawing.colour(place)
    if share.low is not None and share.high is not None:
        axes.plot((share.low, share.high), (y, y), color=colour, linewidth=1.6)
    inside = "none" if line.elsewhere else colour
    axes.plot(
        share.value, y, MARKERS[place % len(MARKERS)], color=colour, markersize=5, markerfacecolor=inside
    )


def _text(axes: Any, said: str, at: tuple[float, float], colour: str) -> None:
    """Text that begins at a number of points right of the scale's left end, at a height of the data."""
    axes.annotate(
        said,
        (0, at[1]),
        (at[0], 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=SIZE,
        color=colour,
        annotation_clip=False,
        linespacing=1.1,
    )


def _key(axes: Any, said: str, left: float, line: int, colour: str) -> None:
    """A line of the key above the names. Line 1 is the lowest."""
    axes.annotate(
        said,
        (0, 1),
        (-GAP - left + EDGE, (line - 1) * LINE + 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=SIZE,
        color=colour,
        annotation_clip=False,
    )


def _chance(axes: Any, shares: Sequence[Share], place: int, line: int) -> None:
    """A dotted line at chance, named above the scale in the line of its metric."""
    known = [one.chance for one in shares if isinstance(one, Estimate) and one.chance is not None]
    if not known:
        return
    colour = drawing.colour(place)
    axes.axvline(known[0], color=colour, linewidth=0.9, linestyle=":")
    axes.annotate(
        f"chance {100 * known[0]:.0f}",
        (known[0], 1),
        (0, (line - 1) * LINE + 5),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if known[0] > 0.5 else "left",
        fontsize=7,
        color=colour,
        annotation_clip=False,
    )
