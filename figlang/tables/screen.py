"""Tables in a terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen

from figlang.tables.table import Table


def show(tables: Sequence[Table], below: Sequence[str], console: Console, left: Sequence[str] = ()) -> None:
    """Tables, and lines below them. The first column may be folded, and those named in `left`, which hold names too."""
    for table in tables:
        console.print(_screen(table, left))
    for line in below:
        console.print(line, style="dim", highlight=False, markup=False, emoji=False, soft_wrap=True)


def _screen(table: Table, left: Sequence[str]) -> Screen:
    screen = Screen(title=escape(table.title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(table.columns):
        name = place == 0 or column in left
        screen.add_column(escape(column), justify="left" if name else "right", no_wrap=not name, overflow="fold")
    for place, row in enumerate(table.texts):
        if place in table.ruled:
            screen.add_section()
        screen.add_row(*map(escape, row))
    return screen
