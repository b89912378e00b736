"""A table: rows of typed cells below their headings."""

from collections.abc import Sequence
from dataclasses import dataclass

from figlang.tables.cells import FEW_CLUSTERS, Cell, mark, text


@dataclass(frozen=True)
class Table:
    """Rows of cells below their headings. `name` is the stem of its files; `notes` say what has to be known
    to read it.

    `ruled` are the numbers of the rows that begin a new block, which is set off. `brief` writes intervals in
    whole per cents, for tables with many columns.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    ruled: tuple[int, ...] = ()
    brief: bool = False

    @classmethod
    def of_blocks(
        cls,
        name: str,
        title: str,
        columns: Sequence[str],
        blocks: Sequence[Sequence[Sequence[Cell]]],
        brief: bool = False,
    ) -> "Table":
        """A table of blocks of rows; empty ones are left out."""
        rows: list[tuple[Cell, ...]] = []
        ruled = []
        for block in filter(None, blocks):
            if rows:
                ruled.append(len(rows))
            rows += map(tuple, block)
        return cls(name, title, tuple(columns), tuple(rows), (), tuple(ruled), brief)

    @property
    def footnotes(self) -> tuple[str, ...]:
        """The notes, and what the mark of too few clusters means if a cell has it."""
        marked = any(mark(cell) for row in self.rows for cell in row)
        return (*self.notes, FEW_CLUSTERS) if marked else self.notes

    @property
    def texts(self) -> list[list[str]]:
        """The rows as people read them."""
        return [[text(cell, self.brief) for cell in row] for row in self.rows]
