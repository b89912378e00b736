"""The transfer matrix: networks trained on one data set (rows), tested on others (columns)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import tables
from figlang.config.signature import digest
from figlang.files.folders import whole_folder
from figlang.files.whole import write_text
from figlang.machine.printing import say
from figlang.reports import heat
from figlang.reports.terminal import BLIND, GAIN, TITLES
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate, as_row
from figlang.tables import Table, drawing

SHOWN = ("accuracy", "pair_accuracy")
AXES = ", trained on (rows) and tested on"


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

    def value(self, name: str) -> Estimate | Difference | None:
        """The metric `name`, or `blind` or `gain`; None if it was not measured."""
        own = {"blind": self.blind, "gain": self.gain}
        return own[name] if name in own else self.metrics.get(name)


def measured(row: str, column: str, content: Mapping[str, Any]) -> MatrixCell:
    """The cell of an evaluation (a metrics.json)."""
    facts = content["facts"]
    seed = "" if facts.get("train_seed") is None else f", seed {facts['train_seed']}"
    # The training data of a served model are not known.
    on = facts.get("trained", "nothing@none").rpartition("@")[0]
    trained = f"{'as it comes' if on == 'nothing' else on} ({content['model']}{seed})"
    found = {name: estimate for name in SHOWN if (estimate := as_row(content["metrics"], name)) is not None}
    reason = (
        "" if found else f"every label of split={content['split']} is hidden, so accuracy cannot be measured"
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
        count = Counter(names.values())
        rows = {key: f"{name}, {key}" if count[name] > 1 else name for key, name in names.items()}
        return cls(
            rows,
            tuple(dict.fromkeys(cell.column for cell in cells)),
            {(cell.row, cell.column): cell for cell in cells},
        )

    def estimates(self, metric: str) -> list[list[Estimate | None]]:
        """The values of a metric by row and column; None where it was not measured."""
        return [[self.cells[key, column].metrics.get(metric) for column in self.columns] for key in self.rows]

    def gains(self) -> list[list[Difference | None]] | None:
        """The gains over blind by row and column; None if there is not one."""
        found = [[self.cells[key, column].gain for column in self.columns] for key in self.rows]
        return found if any(gain is not None for row in found for gain in row) else None

    @property
    def reasons(self) -> list[str]:
        """The reasons why cells are empty, each once with its cells before it: `ROW on COLUMN, COLUMN: …`."""
        empty: dict[str, dict[str, list[str]]] = {}
        for cell in self.cells.values():
            if cell.reason:
                empty.setdefault(cell.reason, {}).setdefault(self.rows[cell.row], []).append(cell.column)
        named = {
            reason: [f"{row} on {', '.join(columns)}" for row, columns in rows.items()]
            for reason, rows in empty.items()
        }
        return [f"{'; '.join(cells)}: {reason}" for reason, cells in named.items()]


def made(matrix: Matrix) -> list[Table]:
    """The tables for files: one for each metric that was measured anywhere, one row for each network."""
    tables_made = [_table(matrix, metric, TITLES[metric], "%") for metric in SHOWN]
    tables_made += [
        _table(matrix, "blind", BLIND, "%", ", the context hidden"),
        _table(matrix, "gain", GAIN, "points"),
    ]
    return [table for table in tables_made if table is not None]


def shown(matrix: Matrix) -> list[Table]:
    """The tables for people: those of `made`, but the gain over blind stands below its accuracy, in the same
    cell of the matrix."""
    found = {table.name: table for table in made(matrix)}
    gains = found.pop("gain", None)
    accuracy = found.pop("accuracy", None)
    if accuracy is None or gains is None:
        return [table for table in (accuracy, gains, *found.values()) if table is not None]
    blocks = [[row, (GAIN, *gain)] for row, (_, *gain) in zip(accuracy.rows, gains.rows, strict=True)]
    title = f"{TITLES['accuracy']} in %, below it the {GAIN} in points (95 % CI){AXES}"
    return [Table.of_blocks("accuracy_and_gain", title, accuracy.columns, blocks), *found.values()]


def _table(matrix: Matrix, name: str, title: str, unit: str, more: str = "") -> Table | None:
    """A value of the cells as a table; None if it was measured nowhere."""
    cells = [[matrix.cells[key, column].value(name) for column in matrix.columns] for key in matrix.rows]
    if all(cell is None for row in cells for cell in row):
        return None
    rows = tuple((row, *each) for row, each in zip(matrix.rows.values(), cells, strict=True))
    return Table(name, f"{title} in {unit} (95 % CI){more}{AXES}", ("trained on", *matrix.columns), rows)


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
    tables_made, shown_tables = made(matrix), shown(matrix)
    with whole_folder(folder) as beside:
        write_text(beside / "matrix.json", json.dumps(cells, indent=2, ensure_ascii=False) + "\n")
        write_text(beside / "matrix.md", tables.document("Transfer", shown_tables, matrix.reasons))
        both = {table.name: table for table in (*tables_made, *shown_tables)}
        tables.write(list(both.values()), beside / "tables")
        for table in (one for one in tables_made if one.name in SHOWN):
            estimates = matrix.estimates(table.name)
            names = list(matrix.rows.values())
            gains = matrix.gains() if table.name == "accuracy" else None
            drawn = heat.heat(estimates, names, matrix.columns, TITLES[table.name], gains)
            drawing.save(drawn, beside / table.name, ("svg", "png"))
    return folder


def show(matrix: Matrix, folder: Path, console: Console) -> None:
    """Print the tables, and the reasons why cells are empty."""
    tables.show(shown(matrix), [f"–: {reason}" for reason in matrix.reasons], console)
    say(str(folder), console, "bold")
