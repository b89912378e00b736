"""Tables in a terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Screen
from rich.text import Text

from figlang.machine.printing import printable
from figlang.tables.cells import FEW_CLUSTERS
from figlang.tables.table import Table

NAME = 12  # smallest width, in characters, of a column whose names are folded
BETWEEN, EDGES = 3, 2  # characters between columns, and at the ends of a line


def show(tables: Sequence[Table], below: Sequence[str], console: Console, left: Sequence[str] = ()) -> None:
    """Print tables, and lines below them.

    A table that is too wide is shown row by row, with a line for each column.

    Args:
        tables: The tables.
        below: Lines below them.
        console: Where to print.
        left: Columns that hold names, besides the first one. Names may be folded.
    """
    for table in tables:
        console.print(_screen(table, left) if _width(table, left) <= console.width else _by_rows(table))
    marked = [FEW_CLUSTERS] if any(FEW_CLUSTERS in table.footnotes for table in tables) else []
    for line in (*below, *marked):
        console.print(
            printable(line), style="dim", highlight=False, markup=False, emoji=False, soft_wrap=True
        )


def plain(text: str) -> Text:
    """Escape text, so that rich does not read it as markup or emoji, and a terminal not as a command."""
    return Text(printable(text, lines=True))


def _is_name(place: int, column: str, left: Sequence[str]) -> bool:
    return place == 0 or column in left


def _width(table: Table, left: Sequence[str]) -> int:
    """The smallest width at which names can be read and nothing else is folded."""
    longest = [
        max(map(cell_len, (column, *(row[place] for row in table.texts))))
        for place, column in enumerate(table.columns)
    ]
    widths = (
        min(size, NAME) if _is_name(place, table.columns[place], left) else size
        for place, size in enumerate(longest)
    )
    return sum(widths) + BETWEEN * (len(longest) - 1) + EDGES


def _screen(table: Table, left: Sequence[str]) -> Screen:
    screen = Screen(title=plain(table.title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(table.columns):
        name = _is_name(place, column, left)
        screen.add_column(
            plain(column), justify="left" if name else "right", no_wrap=not name, overflow="fold"
        )
    for place, row in enumerate(table.texts):
        if place in table.ruled:
            screen.add_section()
        screen.add_row(*map(plain, row))
    return screen


def _by_rows(table: Table) -> Screen:
    screen = Screen(
        title=plain(table.title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_header=False
    )
    screen.add_column()
    screen.add_column(overflow="fold")
    for row in table.texts:
        for column, text in zip(table.columns, row, strict=True):
            screen.add_row(plain(column), plain(text))
        screen.add_section()
    return screen
