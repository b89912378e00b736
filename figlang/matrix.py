"""The transfer matrix: what was trained on one data set, tested on another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import figures, tables
from figlang.files import whole_folder, write_text
from figlang.metrics import Estimate, as_row
from figlang.report.terminal import TITLES
from figlang.signature import digest
from figlang.tables import Table

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
    seed = "" if facts.get("train_seed") is None else f", seed {facts['train_seed']}"
    # Of a served model it is not known.
    trained = f"{facts.get('trained', 'as it comes@none').rpartition('@')[0]} ({content['model']}{seed})"
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


def made(matrix: Matrix) -> list[Table]:
    """A table for each metric that was measured anywhere."""
    found = []
    for metric in SHOWN:
        named = zip(matrix.rows.values(), matrix.estimates(metric), strict=True)
        rows = tuple((name, *estimates) for name, estimates in named)
        if any(cell is not None for _, *cells in rows for cell in cells):
            title = f"{TITLES[metric]} in % (95 % CI), trained on (rows) and tested on"
            found.append(Table(metric, title, ("trained on", *matrix.columns), rows))
    return found


def write(matrix: Matrix, parent: Path) -> Path:
    """matrix.json, matrix.md, tables and heat maps, in a folder of their own whose name follows from all that made the cells."""
    folder = parent / digest([{**asdict(cell), "metrics": sorted(cell.metrics)} for cell in matrix.cells.values()])
    cells = [asdict(cell) | {"trained": matrix.rows[cell.row]} for cell in matrix.cells.values()]
    tables_made = made(matrix)
    with whole_folder(folder) as beside:
        write_text(beside / "matrix.json", json.dumps(cells, indent=2, ensure_ascii=False) + "\n")
        write_text(beside / "matrix.md", tables.document("Transfer", tables_made, matrix.reasons))
        tables.write(tables_made, beside / "tables")
        for table in tables_made:
            estimates = matrix.estimates(table.name)
            figures.heat_map(estimates, list(matrix.rows.values()), matrix.columns, TITLES[table.name], beside / table.name)
    return folder


def show(matrix: Matrix, folder: Path, console: Console) -> None:
    """The tables, and why cells are empty."""
    tables.show(made(matrix), [f"–: {reason}" for reason in matrix.reasons], console)
    console.print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)
