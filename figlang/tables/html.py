"""Tables as HTML for a notebook, one function. Any text in a cell or heading stays text."""

from collections.abc import Sequence
from html import escape

from figlang.machine.printing import printable
from figlang.tables.table import Table


def html(tables: Sequence[Table], below: Sequence[str] = ()) -> str:
    """Tables as an HTML fragment without scripts and styles of a page.

    Args:
        tables: The tables.
        below: Sentences below them.

    Returns:
        The fragment.
    """
    lines = [line for table in tables for line in (_table(table), *map(_note, table.footnotes))]
    shown = {note for table in tables for note in table.footnotes}
    return f"<div>{''.join([*lines, *(_note(line) for line in below if line not in shown)])}</div>"


def _table(table: Table) -> str:
    sides = [_side(table, place) for place in range(len(table.columns))]
    head = "".join(_cell("th", text, side) for text, side in zip(table.columns, sides, strict=True))
    rows = "".join(
        f"<tr>{''.join(_cell('td', text, side) for text, side in zip(row, sides, strict=True))}</tr>"
        for row in table.texts
    )
    caption = f'<caption style="text-align: left; caption-side: top">{_text(table.title)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _side(table: Table, place: int) -> str:
    """The side of a column's cells: names and texts are on the left, numbers on the right."""
    texts = place == 0 or any(isinstance(row[place], str) and row[place] for row in table.rows)
    return "left" if texts else "right"


def _cell(tag: str, plain: str, side: str) -> str:
    return f'<{tag} style="text-align: {side}">{_text(plain)}</{tag}>'


def _note(line: str) -> str:
    return f'<p style="overflow-wrap: anywhere"><small>{_text(line)}</small></p>'


def _text(plain: str) -> str:
    return escape(printable(plain, lines=True))
