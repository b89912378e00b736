"""What a report is made of: sections of tables, figures and sentences, the same for the page and for the
files beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from figlang.runs.systems import Pool, System
from figlang.tables import Table
from figlang.tasks import registry
from figlang.tasks.task import Task
from figlang.types import Item


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure; `name` is the stem of its files, `title` says what it shows and how to read it.

    `panels` are its panels as figures of their own, which a narrow page sets below each other.
    """

    name: str
    title: str
    figure: Any
    panels: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Prose:
    """A sentence, or, as `kind` says, a line to be copied, a small remark, or a heading within the
    section."""

    text: str
    kind: Literal["text", "code", "note", "heading"] = "text"


@dataclass(frozen=True)
class Long:
    """A table that is whole in the files only: the page has its first `shown` rows, or none."""

    table: Table
    shown: int = 0


ROWS = 60  # of a table on the page; a longer one is cut there, and whole in its files

Part = Table | Long | Picture | Prose


def fitted(table: Table) -> Table | Long:
    """The table as a part of the page: cut there if it has too many rows."""
    return table if len(table.rows) <= ROWS else Long(table, ROWS)


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; `folded` opens on demand."""

    title: str
    parts: tuple[Part, ...]
    folded: bool = False


@dataclass(frozen=True)
class Chapter:
    """Systems that saw the same items. `items` are these by id, empty where their texts were not found, for
    the `reason`.

    `task` is what they are of. `training` are the items of its training split, where they were found.
    """

    name: str
    pools: tuple[Pool, ...]
    items: Mapping[str, Item]
    task: Task = field(default_factory=registry.unknown)
    reason: str = ""
    training: tuple[Item, ...] = ()

    @property
    def systems(self) -> list[System]:
        return [system for pool in self.pools for system in pool.systems]
