"""Published results: their file, and whether an evaluation may be compared with them.

The `published.csv` in a benchmark's folder holds the printed numbers of its paper and, marked as such,
numbers from or recomputed from the authors' released files. Its columns are the fields of `Published`;
`setting` is written `key=value;key=value`. Tables show its keys `regime` and `train`. The column `note`
explains a number.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from figlang.tables import Cell, Mean

NAME = "published.csv"


@dataclass(frozen=True)
class Published:
    """One published number. `setting` is the row's key=value list; shares are in per cent, as printed."""

    paper: str
    table: str
    benchmark: str
    model: str
    setting: dict[str, str]
    metric: str
    value: float | None
    unit: str
    note: str

    @property
    def of_people(self) -> bool:
        """Whether it is a number of people, alone or as a group."""
        return self.model.startswith("Human")


@dataclass(frozen=True)
class Comparison:
    """A published number with whether it is comparable, and the reason if it is not."""

    published: Published
    comparable: bool
    reason: str

    @property
    def orients(self) -> bool:
        """Whether the number shows what can be reached. It may have been measured on other items."""
        return self.comparable or self.reason.startswith("measured ")


@cache
def results(folder: Path) -> tuple[Published, ...]:
    """All rows of the published results in a benchmark's folder."""
    with (folder / NAME).open(encoding="utf-8", newline="") as file:
        return tuple(
            Published(
                row["paper"],
                row["table"],
                row["benchmark"],
                row["model"],
                dict(pair.split("=", 1) for pair in row["setting"].split(";") if "=" in pair),
                row["metric"],
                float(row["value"]) if row["value"] else None,
                row["unit"],
                row["note"],
            )
            for row in csv.DictReader(file)
        )


def comparable_first(compared: Iterable[Comparison]) -> list[Comparison]:
    """Put comparisons with a comparable number first, and keep the order otherwise."""
    return sorted(compared, key=lambda comparison: not comparison.comparable)


def share(published: Published) -> Cell:
    """A published value in per cent (two digits), as a share like measured ones."""
    return None if published.value is None else Mean(round(published.value / 100, 4))
