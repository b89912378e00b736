"""Heat maps: shares by row and column, as large as their names and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables import drawing, lettering
from figlang.tables.drawing import MUTED

Cells = Sequence[Sequence[Estimate | None]]
Gains = Sequence[Sequence[Difference | None]]
CELL, BAR, LINE = 84.0, 74.0, 10.5  # points: width of a cell, of the scale beside the map, height of a line
NAMES = 150.0  # points that a line of a row's name may have


@dataclass(frozen=True)
class _Sizes:
    """The parts of a heat map in points, and its texts in lines."""

    names: list[str]
    columns: list[str]
    heading: str
    left: float
    below: float
    wide: float
    high: float
    width: float
    height: float

    @classmethod
    def of(cls, names: Sequence[str], columns: Sequence[str], title: str, lines: int) -> "_Sizes":
        rows = [lettering.wrapped(name, NAMES) for name in names]
        tops = [lettering.wrapped(name, CELL - 8, lines=4) for name in columns]
        left = 32 + lettering.widest(rows)
        below = 22 + LINE * (1 + max((name.count("\n") + 1 for name in tops), default=1))
        cell = max(max(9 + LINE * lines, LINE * (name.count("\n") + 1) + 4) for name in rows)
        wide, high = CELL * len(columns), max(cell * len(rows), 130.0)
        width = left + wide + BAR
        heading = lettering.wrapped(title, width - 16, 10)
        over = 14 + 13 * (heading.count("\n") + 1)
        return cls(rows, tops, heading, left, below, wide, high, width, over + high + below)


def heat(
    rows: Cells,
    names: Sequence[str],
    columns: Sequence[str],
    title: str,
    gains: Gains | None = None,
) -> Any:
    """Draw shares with their 95 % intervals. The colour is the distance from chance (white), so that columns
    can be compared.

    Args:
        rows: Shares by row and column; None where there is none.
        names: Names of the rows.
        columns: Names of the columns.
        title: Title above the map.
        gains: Gains over a baseline in the same order, which stand below the shares.
    """
    what = f"{title}, per cent" if gains is None else f"{title}, per cent, and gain over blind, points"
    size = _Sizes.of(names, columns, what, 2 if gains is None else 3)
    width, height = size.width, size.height

    def paint(figure: Any) -> None:
        axes = figure.add_axes(
            (size.left / width, size.below / height, size.wide / width, size.high / height)
        )
        image = _cells(axes, rows, gains)
        axes.set_xticks(range(len(columns)), size.columns, fontsize=8)
        axes.set_yticks(range(len(names)), size.names, fontsize=8)
        axes.spines[:].set_visible(False)
        middle = (size.below + size.high / 2) / height
        about = {"fontsize": 8, "color": MUTED}
        figure.text(size.left / width, 8 / height, "tested on", va="bottom", **about)
        figure.text(12 / width, middle, "trained on", rotation=90, va="center", ha="center", **about)
        figure.text(8 / width, 1 - 8 / height, size.heading, fontsize=10, va="top")
        place = (size.left + size.wide + 10) / width
        beside = figure.add_axes((place, size.below / height, 10 / width, size.high / height))
        figure.colorbar(image, cax=beside)
        beside.set_yticks([-1, 0, 1], ["none right", "chance", "all right"], fontsize=7)
        for label, side in zip(beside.get_yticklabels(), ("bottom", "center", "top"), strict=True):
            label.set_verticalalignment(side)

    return drawing.placed(width, height, paint)


def _cells(axes: Any, rows: Cells, gains: Gains | None) -> Any:
    above = [[nan if cell is None else _above_chance(cell) for cell in row] for row in rows]
    image = axes.imshow(above, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    for y, row in enumerate(rows):
        for x, one in enumerate(row):
            colour = "white" if abs(above[y][x]) > 0.6 else "black"
            said = _said(one, None if gains is None else gains[y][x])
            axes.text(x, y, said, ha="center", va="center", fontsize=8, color=colour)
    return image


def _said(one: Estimate | None, gain: Difference | None) -> str:
    if one is None:
        return "–"
    lines = [f"{100 * one.value:.1f}", f"{100 * one.low:.1f} – {100 * one.high:.1f}"]
    if gain is not None:
        lines.append(f"gain {100 * gain.value:+.1f}".replace("-", "−"))
    return "\n".join(lines)


def _above_chance(estimate: Estimate) -> float:
    """The distance of a share from chance: 0 at chance, 1 if all is right, -1 if none is."""
    chance = estimate.chance or 0.0
    above = estimate.value - chance
    return above / (chance if above < 0 else 1 - chance)
