"""A table: headings and rows of typed cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from figlang.tables.cells import FEW_CLUSTERS, Cell, mark, text


@dataclass(frozen=True)
class Table:
    """Rows of cells below their headings.

    Attributes:
        name: Stem of its files.
        title: Its title.
        columns: The headings.
        rows: The rows.
        notes: Notes that a reader needs.
        ruled: Numbers of the rows (from 0) that begin a new block.
        brief: Write intervals in whole per cents, for tables with many columns.
        optional: Headings of columns that may be left out where there is no room, the last one first.
        heat: The page colours shares by their distance from chance.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    ruled: tuple[int, ...] = ()
    brief: bool = False
    optional: tuple[str, ...] = ()
    heat: bool = False

    @classmethod
    def of_blocks(
        cls,
        name: str,
        title: str,
        columns: Sequence[str],
        blocks: Sequence[Sequence[Sequence[Cell]]],
        brief: bool = False,
    ) -> "Table":
        """Make a table of blocks of rows. Empty blocks are left out."""
        rows: list[tuple[Cell, ...]] = []
        ruled = []
        for block in filter(None, blocks):
            if rows:
                ruled.append(len(rows))
            rows += map(tuple, block)
        return cls(name, title, tuple(columns), tuple(rows), (), tuple(ruled), brief)

    @cached_property
    def footnotes(self) -> tuple[str, ...]:
        """The notes. If a cell has the mark of too few clusters, its meaning is added."""
        marked = any(mark(cell) for row in self.rows for cell in row)
        return (*self.notes, FEW_CLUSTERS) if marked else self.notes

    @cached_property
    def texts(self) -> list[list[str]]:
        """The rows as people read them."""
        return [[text(cell, self.brief) for cell in row] for row in self.rows]
