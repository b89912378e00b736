"""What the context adds in each cell of a grid: the accuracy beside that with the context hidden."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from figlang.statistics import comparison, metrics
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, Table
from figlang.tables.cells import PValue
from figlang.types import Prediction

NOTE = (
    "Blind: the same prompt without the sentence that it is about. A prompt that does not show the sentence "
    "gains nothing. Gain: the accuracy minus the blind accuracy, on the same items. Its interval and p are "
    "over clusters of dependent items."
)


def measure(
    seen: Mapping[str, Sequence[Prediction]],
    blind: Mapping[str, Sequence[Prediction]],
    apart: str | None = None,
) -> dict[str, Any]:
    """Measure the accuracy, the accuracy with the context hidden and the gain of every cell.

    Args:
        seen: The predictions of each cell, by its name.
        blind: Those of the same items with the context hidden.
        apart: The attribute by whose values the items are measured. None: all items together.

    Returns:
        By value of the attribute ("" without one) and name of the cell: `accuracy`, `blind` and `gain`, as
            JSON takes them. Cells without labels are left out.
    """
    gains: dict[str, dict[str, Any]] = {}
    for name, rows in seen.items():
        for value in _values(rows, apart):
            both = [_of(several, apart, value) for several in (rows, blind[name])]
            accuracy, hidden = metrics.accuracies(both)
            if accuracy is not None and hidden is not None:
                gain = comparison.gain(*both)
                gains.setdefault(value, {})[name] = {
                    "accuracy": asdict(accuracy),
                    "blind": asdict(hidden),
                    "gain": asdict(gain),
                }
    return gains


def table(gains: Mapping[str, Mapping[str, Any]]) -> Table:
    """A table of the result of `measure`: a block for each value of the attribute."""
    blocks: list[list[list[Cell]]] = []
    for value, by_name in gains.items():
        heading: list[list[Cell]] = [[value, "", "", "", ""]] if value else []
        blocks.append([*heading, *([name, *_row(cell)] for name, cell in by_name.items())])
    columns = ("prompt", "accuracy (95 % CI)", "blind accuracy", "gain over blind", "p")
    made = Table.of_blocks("blind", "Every prompt with the sentence hidden, in %", columns, blocks)
    return replace(made, notes=(NOTE,))


def _row(cell: Mapping[str, Any]) -> list[Cell]:
    gain = Difference(**cell["gain"])
    return [Estimate(**cell["accuracy"]), Estimate(**cell["blind"]), gain, PValue(gain.p)]


def _values(rows: Sequence[Prediction], apart: str | None) -> list[str]:
    if apart is None:
        return [""]
    return list(dict.fromkeys(value for row in rows for value in row.attributes.get(apart, ())))


def _of(rows: Sequence[Prediction], apart: str | None, value: str) -> list[Prediction]:
    return [row for row in rows if apart is None or value in row.attributes.get(apart, ())]
