"""The parts of a report: sections of tables, figures and sentences. The page and the files are made of
them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from figlang.machine import bars
from figlang.reports.ranked import Line
from figlang.runs.systems import Pool, System
from figlang.statistics.common import Answered
from figlang.statistics.comparison import Compared, every_pair
from figlang.tables import Table
from figlang.tasks import registry, surface
from figlang.tasks.task import Task
from figlang.text.amounts import counted, duration
from figlang.types import Item

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure; `name` is the stem of its files, `title` says what it shows and how to read it.

    `panels` are its panels as separate figures, for narrow pages. `lines` are the rows of a figure that ranks
    systems. The page shows them as a table with bars.
    """

    name: str
    title: str
    figure: Any
    panels: tuple[Any, ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Prose:
    """A sentence. `kind` can make it a line to be copied, a small remark, or a heading in the section."""

    text: str
    kind: Literal["text", "answer", "code", "note", "heading"] = "text"


@dataclass(frozen=True)
class Long:
    """A table that is complete only in the files. The page shows its first `shown` rows, or none."""

    table: Table
    shown: int = 0


NAMED = 10  # systems that a note names
ROWS = 60  # The page shows at most so many rows of a table. Its files have all of them.

MANY = 10_000  # pairs of systems whose number is said before they are compared, at about a millisecond each

Part = Table | Long | Picture | Prose


def fitted(table: Table) -> Table | Long:
    """A table for the page. If it has too many rows, the page shows the first ones."""
    return table if len(table.rows) <= ROWS else Long(table, ROWS)


def in_pairs(pools: Sequence[Pool]) -> list[Compared]:
    """Every two systems, compared. If they are many, a line says so before that begins."""
    pairs = len(pools) * (len(pools) - 1) // 2
    if pairs >= MANY:
        log.info(
            "%s are %s pairs, each with a test of its own: about %s at a millisecond each",
            counted(len(pools), "system"),
            f"{pairs:,}",
            duration(pairs / 1000),
        )
    return every_pair([pool.runs for pool in pools], lambda parts: bars.track(parts, "comparing"))


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it. If `folded`, readers open it by a click."""

    title: str
    parts: tuple[Part, ...]
    folded: bool = False


@dataclass(frozen=True)
class Chapter:
    """Systems that saw the same items. `items` are these items by id. If their texts were not found, it is
    empty and `reason` says why. `task` is their task. `training` are the training items, if they were found.
    `people` are what people chose on items, by id.
    """

    name: str
    pools: tuple[Pool, ...]
    items: Mapping[str, Item]
    task: Task = field(default_factory=registry.unknown)
    reason: str = ""
    training: tuple[Item, ...] = ()
    people: Mapping[str, tuple[Answered, ...]] = field(default_factory=dict)

    @cached_property
    def compared(self) -> list[Compared]:
        """Every two systems, compared; empty if there is only one, or if labels are hidden."""
        labelled = any(row.gold is not None for row in self.pools[0].systems[0].predictions)
        if len(self.pools) < 2 or not labelled:
            return []
        return in_pairs(self.pools)

    @cached_property
    def rules(self) -> list[surface.Baseline]:
        """How well rules without a model choose on the items with known labels, the best rule first."""
        rows = self.pools[0].systems[0].predictions
        known = [item for row in rows if row.gold is not None and (item := self.items.get(row.id))]
        return surface.measure(known, self.training)

    @property
    def single(self) -> tuple[str, ...]:
        """A note for tables of one run a system: which run it is, where there are several seeds."""
        first = [pool.systems[0].name for pool in self.pools if len(pool.systems) > 1]
        if not first:
            return ()
        more = f" and {len(first) - NAMED} others" if len(first) > NAMED else ""
        return (f"This table has one run of a system with several seeds: {'; '.join(first[:NAMED])}{more}.",)

    @property
    def systems(self) -> list[System]:
        return [system for pool in self.pools for system in pool.systems]
