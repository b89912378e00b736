"""The transfer matrix: what was trained on one data set, tested on another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from figlang import figures
from figlang.files import whole_folder, write_text
from figlang.metrics import Estimate, as_row
from figlang.report.terminal import TITLES
from figlang.signature import digest

SHOWN = ("accuracy", "pair_accuracy")


@dataclass(frozen=True)
class Cell:
    """One network on one data set, or the reason why it cannot be tested there. `row` is what tells networks apart."""

    row: str
    column: str
    trained: str
    metrics: Mapping[str, Estimate] = field(default_factory=dict)
    signature: str = ""
    reason: str = ""


def measured(row: str, column: str, content: Mapping[str, Any]) -> Cell:
    """The cell of an evaluation (a metrics.json)."""
    facts = content["facts"]
    seed = "" if facts["train_seed"] is None else f", seed {facts['train_seed']}"
    trained = f"{facts['trained'].rpartition('@')[0]} ({content['model']}{seed})"
    found = {name: estimate for name in SHOWN if (estimate := as_row(content["metrics"], name)) is not None}
    reason = "" if found else f"{column}: every label of split={content['split']} is hidden, so that nothing can be counted"
    return Cell(row, column, trained, found, content["signature"], reason)


@dataclass(frozen=True)
class Matrix:
    """Cells by row and column, in the order they came."""

    rows: Mapping[str, str]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> "Matrix":
        """Rows are named by what was trained on, and by their overrides where that does not tell them apart."""
        keys = dict.fromkeys(cell.row for cell in cells)
        # A network that could be tested nowhere has no name but its own.
        known = [*(cell for cell in cells if cell.metrics), *cells]
        names = {key: next(cell.trained for cell in known if cell.row == key) for key in keys}
        twice = {name for name in names.values() if list(names.values()).count(name) > 1}
        rows = {key: f"{name}, {key}" if name in twice else name for key, name in names.items()}
        return cls(rows, tuple(dict.fromkeys(cell.column for cell in cells)), {(cell.row, cell.column): cell for cell in cells})

    def estimates(self, metric: str) -> list[list[Estimate | None]]:
        """Rows of a metric, None where it was not measured."""
        return [[self.cells[key, column].metrics.get(metric) for column in self.columns] for key in self.rows]

    @property
    def reasons(self) -> list[str]:
        """Why cells are empty, each reason once."""
        return list(dict.fromkeys(cell.reason for cell in self.cells.values() if cell.reason))


def text(estimate: Estimate | None) -> str:
    """A cell in per cent with its 95 % interval."""
    if estimate is None:
        return "–"
    return f"{100 * estimate.value:.1f} ({100 * estimate.low:.1f} – {100 * estimate.high:.1f})"


def write(matrix: Matrix, parent: Path) -> Path:
    """matrix.json, matrix.md and heat maps, in a folder of their own whose name follows from all that made the cells."""
    folder = parent / digest([{**asdict(cell), "metrics": sorted(cell.metrics)} for cell in matrix.cells.values()])
    cells = [asdict(cell) | {"trained": matrix.rows[cell.row]} for cell in matrix.cells.values()]
    shown = {metric: rows for metric in SHOWN if any(map(any, rows := matrix.estimates(metric)))}
    tables = []
    with whole_folder(folder) as beside:
        write_text(beside / "matrix.json", json.dumps(cells, indent=2, ensure_ascii=False) + "\n")
        for metric, estimates in shown.items():
            lines = [f"| {TITLES[metric]}, trained on | {' | '.join(matrix.columns)} |", "|---" * (len(matrix.columns) + 1) + "|"]
            named = zip(matrix.rows.values(), estimates, strict=True)
            lines += [f"| {name} | {' | '.join(map(text, row))} |" for name, row in named]
            tables.append("\n".join(lines))
            figures.heat_map(estimates, list(matrix.rows.values()), matrix.columns, TITLES[metric], beside / metric)
        write_text(beside / "matrix.md", "\n\n".join([*tables, *matrix.reasons]) + "\n")
    return folder


def show(matrix: Matrix, folder: Path, console: Console) -> None:
    """The tables, and why cells are empty."""
    for metric in SHOWN:
        estimates = matrix.estimates(metric)
        if not any(estimate for row in estimates for estimate in row):
            continue
        table = Table(title=f"{TITLES[metric]} (95 % CI), tested on", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("trained on", overflow="fold")
        for column in matrix.columns:
            table.add_column(column, justify="right", no_wrap=True)
        for name, row in zip(matrix.rows.values(), estimates, strict=True):
            table.add_row(escape(name), *map(text, row))
        console.print(table)
    for reason in matrix.reasons:
        console.print(f"–: {reason}", style="dim", highlight=False, markup=False, soft_wrap=True)
    console.print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)
