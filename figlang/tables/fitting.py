"""Make a table fit: columns are narrowed, intervals put below their values, columns left out or put below.

A measure of text decides what fits. So the same code serves paper and terminal.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables.cells import Cell, Mean
from figlang.tables.table import Table

Measure = Callable[[str], float]
BREAK = re.compile("(?<=[ /,_=>-])")  # a line of a text may end here


@dataclass(frozen=True)
class Attempt:
    """A way to set a table: the measure of its letters, and whether intervals stand below their values."""

    measure: Measure
    stacked: bool
    size: float = 1.0


@dataclass(frozen=True)
class Panel:
    """Columns that stand beside each other, by their places in the table, and their widths."""

    columns: tuple[int, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True)
class Fit:
    """How a table fits.

    Attributes:
        attempt: The way in which it is set.
        panels: Its parts, one below the other; each begins with the first column.
        left_out: Headings of the columns that are left out.
    """

    attempt: Attempt
    panels: tuple[Panel, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Column:
    least: float
    natural: float


def fit(table: Table, room: float, gap: float, attempts: Sequence[Attempt], least: float) -> Fit:
    """Find the first way to set a table in the room that there is.

    Letters become smaller and intervals go below their values first. Then the table's optional columns are
    left out, the last one first. If it is still too wide, it is set as several parts, one below the other.

    Args:
        table: The table.
        room: Width of a line, in the unit of the measures.
        gap: Width between two columns.
        attempts: Ways to set it, the best first.
        least: The width that a column of text may always be narrowed to.
    """
    known: dict[tuple[int, int], _Column] = {}

    def column(number: int, place: int) -> _Column:
        if (number, place) not in known:
            known[number, place] = _column(table, place, attempts[number], least)
        return known[number, place]

    for count in range(len(table.optional) + 1):
        # A heading may be there twice; all columns of an optional heading go together.
        out = table.optional[len(table.optional) - count :]
        kept = [place for place, heading in enumerate(table.columns) if heading not in out]
        for number, attempt in enumerate(attempts):
            columns = {place: column(number, place) for place in kept}
            if _total([columns[place].least for place in kept], gap) <= room:
                gone = tuple(heading for heading in table.columns if heading in out)
                return Fit(attempt, (_panel(kept, columns, room, gap),), gone)
    attempt = attempts[-1]
    every = range(len(table.columns))
    columns = {place: column(len(attempts) - 1, place) for place in every}
    panels, here = [], [0]
    for place in every[1:]:
        wanted = [*here, place]
        if len(here) > 1 and _total([columns[one].least for one in wanted], gap) > room:
            panels.append(here)
            here = [0, place]
        else:
            here = wanted
    panels.append(here)
    return Fit(attempt, tuple(_panel(each, columns, room, gap) for each in panels), ())


def _total(widths: Sequence[float], gap: float) -> float:
    return sum(widths) + gap * (len(widths) - 1)


def _panel(places: Sequence[int], columns: dict[int, _Column], room: float, gap: float) -> Panel:
    """Share the room that is left among the columns that could use more."""
    widths = {place: columns[place].least for place in places}
    spare = room - _total(list(widths.values()), gap)
    wanting = sorted(places, key=lambda place: columns[place].natural - widths[place])
    for rank, place in enumerate(wanting):
        more = min(columns[place].natural - widths[place], max(spare, 0) / (len(wanting) - rank))
        widths[place] += more
        spare -= more
    return Panel(tuple(places), tuple(widths[place] for place in places))


def _column(table: Table, place: int, attempt: Attempt, least: float) -> _Column:
    measure = attempt.measure
    heading = max((measure(part) for part in parts(table.columns[place])), default=0.0)
    cells = [row[place] for row in table.rows]
    texts = [row[place] for row in table.texts]
    lines = [
        line for cell, text in zip(cells, texts, strict=True) for line in stacked(cell, text, attempt.stacked)
    ]
    widest = max(map(measure, lines), default=0.0)
    if is_text(cells) or place == 0:
        natural = max(widest, min(measure(table.columns[place]), 2 * heading))
        return _Column(min(natural, max(least, min(heading, 2 * least))), natural)
    return _Column(max(widest, min(heading, 2 * least)), max(widest, heading))


def is_text(cells: Sequence[Cell]) -> bool:
    """Whether a column holds texts that may be broken into lines."""
    return any(isinstance(cell, str) and any(letter.isalpha() for letter in cell) for cell in cells)


def stacked(cell: Cell, text: str, below: bool) -> list[str]:
    """The lines of a cell: a value, and if `below` its interval in a line of its own."""
    if below and isinstance(cell, Estimate | Difference | Mean) and " (" in text:
        value, _, interval = text.partition(" (")
        return [value, f"({interval}"]
    return [text]


def parts(text: str) -> list[str]:
    """The parts of a text that may each have a line of their own."""
    return [part for part in BREAK.split(text) if part]


def wrapped(text: str, room: float, measure: Measure) -> list[str]:
    """Break a text into lines that fit, after spaces and hyphens if possible.

    Args:
        text: The text.
        room: Width of a line.
        measure: Gives the width of a text.
    """
    lines: list[str] = []
    here = ""
    for part in parts(text):
        if measure((here + part).rstrip()) <= room:
            here += part
            continue
        if here.strip():
            lines.append(here.rstrip())
        here = part
        while measure(here.rstrip()) > room and len(here) > 1:
            end = 1  # from the front: a word may have thousands of letters, a line has some thirty
            while measure(here[: end + 1]) <= room:
                end += 1
            lines.append(here[:end])
            here = here[end:]
    return [*lines, here.rstrip()] if here.strip() or not lines else lines
