"""Tables in files: Markdown, CSV for further computing, LaTeX."""

import csv
import io
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from figlang.files.whole import slug, write_text
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables.cells import Cell, Code, Mean, Range
from figlang.tables.latex import COLUMN, latex
from figlang.tables.table import Table
from figlang.tables.writing import cell_of_csv, markdown_code, markdown_text


def markdown(table: Table) -> str:
    """A table in GitHub's Markdown: title, rows, notes."""
    rows = [
        list(map(markdown_text, table.columns)),
        *(list(map(_cell, row, texts)) for row, texts in zip(table.rows, table.texts, strict=True)),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = f"|---|{'---:|' * (len(table.columns) - 1)}"
    notes = "".join(f"\n{markdown_text(note)}\n" for note in table.footnotes)
    return (
        f"**{markdown_text(table.title)}**\n\n{lines[0]}\n{rule}\n"
        + "".join(f"{line}\n" for line in lines[1:])
        + notes
    )


def document(title: str, tables: Sequence[Table], below: Sequence[str]) -> str:
    """Several tables, and lines below them, as one Markdown document."""
    return "\n".join(
        [
            f"# {markdown_text(title)}\n",
            *map(markdown, tables),
            *(f"{markdown_text(line)}\n" for line in below),
        ]
    )


def _cell(cell: Cell, text: str) -> str:
    return markdown_code(text).replace("|", "\\|") if isinstance(cell, Code) else markdown_text(text)


def comma_separated(table: Table) -> str:
    """A table as CSV for further computing.

    Shares are written from 0 to 1. Every part of an estimate or difference has a column of its own.
    """
    parts = [_parts([row[place] for row in table.rows]) for place in range(len(table.columns))]
    headings = [
        f"{column} {part}".strip()
        for column, names in zip(table.columns, parts, strict=True)
        for part in names
    ]
    rows = (
        [value for cell, names in zip(row, parts, strict=True) for value in _values(cell, names)]
        for row in table.rows
    )
    return csv_text(headings, rows)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Rows as CSV, in which no spreadsheet runs a text (`cell_of_csv`).

    Args:
        columns: The names of the columns.
        rows: The cells. None is an empty one.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([cell_of_csv(cell) for cell in row] for row in (columns, *rows))
    return file.getvalue()


def _parts(cells: Sequence[Cell]) -> tuple[str, ...]:
    if any(isinstance(cell, Difference) for cell in cells):
        return ("", "low", "high", "p", "n", "won", "lost", "clusters")
    if any(isinstance(cell, Estimate) for cell in cells):
        return ("", "low", "high", "n", "sd", "clusters")
    means = [cell for cell in cells if isinstance(cell, Mean)]
    if any(mean.low is not None for mean in means):
        return ("", "low", "high", "n", "sd")
    if any(isinstance(cell, Range) for cell in cells):
        return ("low", "high")
    return ("", "sd") if any(mean.sd is not None for mean in means) else ("",)


def _values(cell: Cell, parts: Sequence[str]) -> list[str | float | int]:
    if isinstance(cell, Estimate | Difference | Mean | Range):
        values = [getattr(cell, part or "value", None) for part in parts]
        return ["" if value is None else value for value in values]
    return ["" if cell is None else cell, *[""] * (len(parts) - 1)]


def write(tables: Sequence[Table], folder: Path) -> None:
    """Write every table as NAME.md, NAME.csv, NAME.tex and NAME-column.tex. NAME is its name, by
    `files.slug`.

    The first LaTeX file is as wide as a page, the second as one of two columns.
    """
    folder.mkdir(parents=True, exist_ok=True)
    forms = (
        (".md", markdown),
        (".csv", comma_separated),
        (".tex", latex),
        ("-column.tex", partial(latex, room=COLUMN)),
    )
    for table in tables:
        for suffix, form in forms:
            write_text(folder / f"{slug(table.name)}{suffix}", form(table))
