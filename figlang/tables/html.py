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
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join(
        f"<tr><th>{_text(row[0])}</th>{''.join(f'<td>{_text(cell)}</td>' for cell in row[1:])}</tr>"
        for row in table.texts
    )
    caption = f'<caption style="text-align: left; caption-side: top">{_text(table.title)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _note(line: str) -> str:
    return f"<p><small>{_text(line)}</small></p>"


def _text(plain: str) -> str:
    return escape(printable(plain, lines=True))
