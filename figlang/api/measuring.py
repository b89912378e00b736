"""Metrics of predictions, each with its interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.api.predictions import Predictions
from figlang.api.quiet import quietly
from figlang.api.shown import Shown
from figlang.api.tabular import to_pandas
from figlang.errors import FiglangError
from figlang.reports.showing import title
from figlang.reports.terminal import BLIND, GAIN, TITLES, cautions
from figlang.runs import systems
from figlang.runs.answered import Answered
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate, as_row
from figlang.tables import Cell, Mean, PValue, Table
from figlang.types import Prediction


class Metrics(Shown):
    """The numbers of one system on some items.

    Attributes:
        content: What metrics.json says.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = dict(content)

    @property
    def name(self) -> str:
        """The name of the system."""
        return str(self.content["model"])

    @property
    def signature(self) -> str:
        """All settings that the numbers depend on, in one line; empty if they are not known."""
        return str(self.content.get("signature", ""))

    @property
    def accuracy(self) -> Estimate | None:
        """The share of items whose choice is right; None if all labels are hidden."""
        return as_row(self.content["metrics"], "accuracy")

    @property
    def pair_accuracy(self) -> Estimate | None:
        """The share of pairs in which all items are right; None without pairs."""
        return as_row(self.content["metrics"], "pair_accuracy")

    @property
    def blind(self) -> Estimate | None:
        """The accuracy with the context hidden; None if it was not measured."""
        return as_row(self.content.get("blind", {}), "accuracy")

    @property
    def gain(self) -> Difference | None:
        """How much more is right with the context than without it; None if that was not measured."""
        return Difference(**self.content["gain"]) if "gain" in self.content else None

    @property
    def backward(self) -> Estimate | None:
        """The accuracy of choosing the context for a given option; None if it was not measured."""
        return as_row(self.content.get("backward", {}), "accuracy")

    def by(self, attribute: str) -> dict[str, Estimate]:
        """The accuracy in each category of an attribute; empty if no item has it.

        Args:
            attribute: Its name.
        """
        cells = self.content["metrics"]["accuracy_by"].get(attribute, {})
        return {value: Estimate(**cell) for value, cell in cells.items()}

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The numbers by name: value, low and high (the 95 % interval), n, chance, p, clusters."""
        return {
            name: {key: getattr(number, key, None) for key in COLUMNS} for name, number in self._numbers()
        }

    def to_pandas(self) -> Any:
        """The numbers as a pandas DataFrame with a line for each metric. Shares are from 0 to 1."""
        return to_pandas([{"metric": name, **numbers} for name, numbers in self.to_dict().items()])

    def _numbers(self) -> list[tuple[str, Estimate | Difference]]:
        metrics = self.content["metrics"]
        found: list[tuple[str, Estimate | Difference | None]] = [
            *((heading, as_row(metrics, name)) for name, heading in TITLES.items()),
            ("backward accuracy", self.backward),
            (BLIND, self.blind),
            (GAIN, self.gain),
            *(
                (f"{attribute}: {value}", Estimate(**cell))
                for attribute, cells in metrics["accuracy_by"].items()
                for value, cell in cells.items()
            ),
        ]
        return [(name, number) for name, number in found if number is not None]

    def tables(self) -> list[Table]:
        lines: list[tuple[Cell, ...]] = []
        for name, number in self._numbers():
            chance = getattr(number, "chance", None)
            p = None if number.p is None else PValue(number.p)
            lines.append((name, number, number.n, None if chance is None else Mean(chance), p))
        named = title(self.content) if "data_name" in self.content else self.name
        return [Table("metrics", named, ("metric", "% (95 % interval)", "n", "chance", "p"), tuple(lines))]

    def lines(self) -> list[str]:
        hidden = self.content["metrics"]["hidden"]
        return [
            *([f"{hidden:,} labels are hidden"] if hidden else []),
            *cautions(self.content),
            *([f"signature {self.signature}"] if self.signature else []),
        ]


COLUMNS = ("value", "low", "high", "n", "chance", "p", "clusters")


def measure(predictions: Predictions | Sequence[Prediction] | str | Path) -> Metrics:
    """The metrics of predictions.

    Args:
        predictions: Predictions, or the path of a run, of an evaluation or of a predictions file.

    Returns:
        Accuracy, pair accuracy and the other metrics, overall and by attribute, with 95 % intervals over
        groups; blind accuracy where the model was also asked with the context hidden.

    Raises:
        FiglangError: A file is damaged, or these are not the predictions of one system.

    Example:
        >>> import figlang
        >>> own = figlang.Predictions.from_list([
        ...     {"id": "velvet", "scores": [2.0, 1.0], "gold": 0},
        ...     {"id": "gravel", "scores": [2.0, 1.0], "gold": 1},
        ... ])
        >>> figlang.measure(own).accuracy.value
        0.5
    """
    if isinstance(predictions, Predictions):
        return Metrics(predictions.document)
    if isinstance(predictions, str | Path):
        with quietly():
            return Metrics(systems.read([str(predictions)])[0].content)
    given: Any = predictions
    if not isinstance(given, Sequence) or not given or not all(isinstance(row, Prediction) for row in given):
        raise FiglangError(
            "figlang.measure takes the predictions of one system or the path of its results; call it for each"
        )
    return Metrics(Predictions(Answered(tuple(given))).document)
