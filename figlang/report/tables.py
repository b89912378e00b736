"""Tables with typed cells, as Markdown, CSV and LaTeX (booktabs). A share is written in per cent with its 95 % interval."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figlang.comparison import Difference
from figlang.metrics import Estimate, spread
from figlang.report.terminal import p_value


class PValue(float):
    """A p value: never shown as zero."""


class Number(float):
    """A number that is no share: a correlation, a loss."""


class Spread(tuple[float, ...]):
    """Shares of several seeds or prompts, shown as mean ± sample standard deviation."""

    __slots__ = ()


Cell = str | int | PValue | Number | Estimate | Difference | Spread | None


@dataclass(frozen=True)
class Table:
    """Rows of cells below their headings. `name` is the stem of its files; `notes` say what has to be known to read it."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def text(cell: Cell) -> str:
    """A cell as people read it; – for what does not exist."""
    match cell:
        case None:
            return "–"
        case PValue():
            return p_value(cell)
        case Number():
            return f"{cell:.3f}"
        case Estimate():
            return f"{100 * cell.value:.1f} ({100 * cell.low:.1f} – {100 * cell.high:.1f})"
        case Difference():
            return f"{100 * cell.value:+.1f} ({100 * cell.low:+.1f} – {100 * cell.high:+.1f})"
        case Spread():
            mean, deviation = spread(cell)
            return f"{100 * mean:.1f} ± {100 * deviation:.1f}"
        case _:
            return str(cell)


def markdown(table: Table) -> str:
    """GitHub's Markdown: title, table, notes."""
    rows = [table.columns, *(tuple(map(text, row)) for row in table.rows)]
    lines = [f"| {' | '.join(_piped(cell) for cell in row)} |" for row in rows]
    rule = f"|---|{'---:|' * (len(table.columns) - 1)}"
    notes = "".join(f"\n{note}\n" for note in table.notes)
    return f"**{table.title}**\n\n{lines[0]}\n{rule}\n" + "".join(f"{line}\n" for line in lines[1:]) + notes


def _piped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def comma_separated(table: Table) -> str:
    """CSV for further computing: shares from 0 to 1 and every part of an estimate or difference in a column of its own."""
    parts = [_parts([row[place] for row in table.rows]) for place in range(len(table.columns))]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(f"{column} {part}".strip() for column, names in zip(table.columns, parts, strict=True) for part in names)
    for row in table.rows:
        writer.writerow(value for cell, names in zip(row, parts, strict=True) for value in _values(cell, names))
    return file.getvalue()


def _parts(cells: Sequence[Cell]) -> tuple[str, ...]:
    if any(isinstance(cell, Difference) for cell in cells):
        return ("", "low", "high", "p", "n", "won", "lost")
    if any(isinstance(cell, Estimate) for cell in cells):
        return ("", "low", "high", "n", "sd")
    return ("", "sd") if any(isinstance(cell, Spread) for cell in cells) else ("",)


def _values(cell: Cell, parts: Sequence[str]) -> list[str | float | int]:
    if isinstance(cell, Spread):
        mean, deviation = spread(cell)
        return [{"": mean, "sd": deviation}.get(part, "") for part in parts]
    if isinstance(cell, Estimate | Difference):
        found = [getattr(cell, part or "value", None) for part in parts]
        return ["" if value is None else value for value in found]
    return ["" if cell is None else cell, *[""] * (len(parts) - 1)]


# What LaTeX takes as syntax or has not in its fonts.
_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$"},
    **{
        "–": "--",
        "±": r"$\pm$",
        "·": r"$\cdot$",
        "→": r"$\rightarrow$",
        "×": r"$\times$",
        "κ": r"$\kappa$",
        "−": "$-$",
        "≥": r"$\geq$",
    },
}


def latex(table: Table) -> str:
    """A table environment that needs the package booktabs only."""
    rows = [" & ".join(map(_latex, map(text, row))) + r" \\" for row in table.rows]
    notes = [rf"\\[2pt] {{\footnotesize {_latex(' '.join(table.notes))}}}"] if table.notes else []
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_latex(table.title)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        " & ".join(map(_latex, table.columns)) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex(plain: str) -> str:
    return "".join(_LATEX.get(char, char) for char in plain)


def write(tables: Sequence[Table], folder: Path) -> None:
    """Every table as NAME.md, NAME.csv and NAME.tex."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for suffix, form in (("md", markdown), ("csv", comma_separated), ("tex", latex)):
            (folder / f"{table.name}.{suffix}").write_text(form(table), encoding="utf-8")
