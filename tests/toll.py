"""What killed commands cost, counted by tests and shown in pytest's summary, which no capture hides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

TOLL = "toll"


@dataclass
class Toll:
    """What was seen of the commands that were killed, or let loose on one folder together.

    `runs` counts folders that a command was brought to its end in, `waits` the writers that a folder was
    refused to because another one was at work there or had finished. The lists say what must not be.
    """

    kills: int = 0
    runs: int = 0
    waits: int = 0
    half_files: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [*self.half_files, *self.lost, *self.refusals]

    def counts(self) -> dict[str, int]:
        return {name: value if isinstance(value, int) else len(value) for name, value in vars(self).items()}


def lines(counted: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """A line per test, by its name, and one of their sum."""
    rows = dict(counted)
    if not rows:
        return []
    total = {name: sum(row[name] for row in rows.values()) for name in Toll().counts()}
    return [_line(name, row) for name, row in [*rows.items(), (f"{len(rows)} tests", total)]]


def _line(name: str, row: Mapping[str, Any]) -> str:
    return (
        f"{name}: {row['kills']} kills, {row['runs']} folders: {row['half_files']} half files, "
        f"{row['lost']} lost results, {row['refusals']} refusals; {row['waits']} writers were told to wait"
    )
