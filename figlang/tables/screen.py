"""Tables in a terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Screen
from rich.text import Text

from figlang.machine.printing import printable, say
from figlang.tables import fitting
from figlang.tables.cells import FEW_CLUSTERS
from figlang.tables.fitting import Attempt, Panel
from figlang.tables.table import Table

NAME = 12  # smallest width, in characters, of a column whose texts are folded
BETWEEN, EDGES = 3, 2  # characters between columns, and at the ends of a line


def show(tables: Sequence[Table], below: Sequence[str], console: Console) -> None:
    """Print tables, and lines below them.

    A table that is too wide is set as in a paper: texts are folded, intervals stand below their values,
    columns that can be missed are left out, and the rest goes below.

    Args:
        tables: The tables.
        below: Lines below them.
        console: Where to print.
    """
    for table in tables:
        _print(table, console)
    marked = [FEW_CLUSTERS] if any(FEW_CLUSTERS in table.footnotes for table in tables) else []
    for line in (*below, *marked):
        say(line, console, "dim")


def plain(text: str) -> Text:
    """Escape text, so that rich does not read it as markup or emoji, and a terminal not as a command."""
    return Text(printable(text, lines=True))


def show_title(title: str, console: Console) -> None:
    """Print the title of a table on a line of its own: rich would fold it to the width of a narrow table."""
    console.print(Text(plain(title).plain, style="table.title"))


def _print(table: Table, console: Console) -> None:
    room = max(console.width - EDGES, 2 * NAME + BETWEEN)
    attempts = [Attempt(cell_len, stacked) for stacked in (False, True)]
    found = fitting.fit(table, room, BETWEEN, attempts, NAME)
    show_title(table.title, console)
    for panel in found.panels:
        console.print(_screen(table, panel, found.attempt))
    if found.left_out:
        say(f"Not shown for want of room: {', '.join(found.left_out)}.", console, "dim")


def _screen(table: Table, panel: Panel, attempt: Attempt) -> Screen:
    screen = Screen(box=SIMPLE_HEAD, pad_edge=False)
    texts = {
        place: place == 0 or fitting.is_text([row[place] for row in table.rows]) for place in panel.columns
    }
    widths = {place: int(width) for place, width in zip(panel.columns, panel.widths, strict=True)}

    def folded(text: str, place: int) -> Text:
        return plain("\n".join(fitting.wrapped(text, widths[place], cell_len)))

    for place in panel.columns:
        screen.add_column(
            folded(table.columns[place], place),
            justify="left" if texts[place] else "right",
            no_wrap=True,
            overflow="fold",
        )
    for number, (row, said) in enumerate(zip(table.rows, table.texts, strict=True)):
        if number in table.ruled:
            screen.add_section()
        screen.add_row(
            *(
                folded(said[place], place)
                if texts[place]
                else plain("\n".join(fitting.stacked(row[place], said[place], attempt.stacked)))
                for place in panel.columns
            )
        )
    return screen
