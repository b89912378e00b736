"""The transfer matrix: networks trained on one data set (rows), tested on others (columns)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import tables
from figlang.config.signature import digest
from figlang.files.folders import whole_folder
from figlang.files.whole import write_text
from figlang.reports import heat
from figlang.reports.terminal import BLIND, GAIN, TITLES
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate, as_row
from figlang.tables import Cell, Table

SHOWN = ("accuracy", "pair_accuracy")


@dataclass(frozen=True)
class MatrixCell:
    """One network on one data set, or the reason why it cannot be tested there.

    Attributes:
        row: Identifies the network: the options that name it.
        column: Name of the data set.
        trained: The data set that the network was trained on.
        metrics: Its metrics by name.
        signature: Signature of the evaluation.
        reason: Why there is no evaluation.
        blind: Accuracy with the context hidden; None if it was not measured.
        gain: Accuracy with the context minus `blind`; None if it was not measured.
    """

    row: str
    column: str
    trained: str
    metrics: Mapping[str, Estimate] = field(default_factory=dict)
    signature: str = ""
    reason: str = ""
    blind: Estimate | None = None
    gain: Difference | None = None


def measured(row: str, column: str, content: Mapping[str, Any]) -> MatrixCell:
    """The cell of an evaluation (a metrics.json)."""
    facts = content["facts"]
    seed = "" if facts.get("train_seed") is None else f", seed {facts['train_seed']}"
    # The training data of a served model are not known.
    on = facts.get("trained", "nothing@none").rpartition("@")[0]
    trained = f"{'as it comes' if on == 'nothing' else on} ({content['model']}{seed})"
    found = {name: estimate for name in SHOWN if (estimate := as_row(content["metrics"], name)) is not None}
    reason = (
        ""
        if found
        else f"{column}: every label of split={content['split']} is hidden, so accuracy cannot be measured"
    )
    blind = as_row(content.get("blind", {}), "accuracy")
    gain = Difference(**content["gain"]) if "gain" in content else None
    return MatrixCell(row, column, trained, found, content["signature"], reason, blind, gain)


@dataclass(frozen=True)
class Matrix:
    """Cells by row and column, in the order they came."""

    rows: Mapping[str, str]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], MatrixCell]

    @classmethod
    def of(cls, cells: Sequence[MatrixCell]) -> "Matrix":
        """Make a matrix. A row is named after its training data.

        If two rows have the same training data, their options are added to the names.
        """
        keys = dict.fromkeys(cell.row for cell in cells)
        # A network without any result is called by its own name.
        known = [*(cell for cell in cells if cell.metrics), *cells]
        names = {key: next(cell.trained for cell in known if cell.row == key) for key in keys}
        twice = {name for name in names.values() if list(names.values()).count(name) > 1}
        rows = {key: f"{name}, {key}" if name in twice else name for key, name in names.items()}
        return cls(
            rows,
            tuple(dict.fromkeys(cell.column for cell in cells)),
            {(cell.row, cell.column): cell for cell in cells},
        )

    def estimates(self, metric: str) -> list[list[Estimate | None]]:
        """The values of a metric by row and column; None where it was not measured."""
        return [[self.cells[key, column].metrics.get(metric) for column in self.columns] for key in self.rows]

    @property
    def reasons(self) -> list[str]:
        """The reasons why cells are empty, without repetition."""
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
    for name, title in (
        ("blind", f"{BLIND} in % (95 % CI), the context hidden"),
        ("gain", f"{GAIN} in points (95 % CI)"),
    ):
        cells = [
            [getattr(matrix.cells[key, column], name) for column in matrix.columns] for key in matrix.rows
        ]
        if any(cell is not None for row in cells for cell in row):
            shown: list[tuple[Cell, ...]] = [
                (row, *each) for row, each in zip(matrix.rows.values(), cells, strict=True)
            ]
            found.append(
                Table(
                    name,
                    f"{title}, trained on (rows) and tested on",
                    ("trained on", *matrix.columns),
                    tuple(shown),
                )
            )
    return found


def write(matrix: Matrix, parent: Path) -> Path:
    """Write matrix.json, matrix.md, tables and heat maps into a folder below `parent`.

    The name of the folder is a hash of the rows, columns and settings of the cells.
    """
    # The name depends on the settings only, not on the results.
    numbers = ("blind", "gain")
    asked = [
        {key: value for key, value in asdict(cell).items() if key not in numbers}
        for cell in matrix.cells.values()
    ]
    folder = parent / digest([{**one, "metrics": sorted(one["metrics"])} for one in asked])
    cells = [asdict(cell) | {"trained": matrix.rows[cell.row]} for cell in matrix.cells.values()]
    tables_made = made(matrix)
    with whole_folder(folder) as beside:
        write_text(beside / "matrix.json", json.dumps(cells, indent=2, ensure_ascii=False) + "\n")
        write_text(beside / "matrix.md", tables.document("Transfer", tables_made, matrix.reasons))
        tables.write(tables_made, beside / "tables")
        for table in (one for one in tables_made if one.name in SHOWN):
            estimates = matrix.estimates(table.name)
            heat.heat_map(
                estimates, list(matrix.rows.values()), matrix.columns, TITLES[table.name], beside / table.name
            )
    return folder


def show(matrix: Matrix, folder: Path, console: Console) -> None:
    """Print the tables, and the reasons why cells are empty."""
    tables.show(made(matrix), [f"–: {reason}" for reason in matrix.reasons], console)
    console.print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)
