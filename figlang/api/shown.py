"""How results show themselves: readable text in a terminal, a table in a notebook."""

import io
from abc import ABC, abstractmethod

from rich.console import Console

from figlang import tables
from figlang.machine.printing import printable
from figlang.tables import Table

WIDTH = 100  # characters of a line


class Shown(ABC):
    """A result with tables and lines below them.

    `repr` gives text. A notebook shows the tables as HTML, in which all text is escaped.
    """

    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables of the result, with typed cells."""

    def lines(self) -> list[str]:
        """Sentences below the tables."""
        return []

    def __repr__(self) -> str:
        file = io.StringIO()
        # In a notebook rich would show the tables itself, and leave the text empty.
        console = Console(file=file, width=WIDTH, color_system=None, force_jupyter=False)
        tables.show(self.tables(), self.lines(), console)
        return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").splitlines())

    def _repr_html_(self) -> str:
        return tables.html(self.tables(), self.lines())


def clipped(text: str, most: int = 60) -> str:
    """A text that fits into a cell.

    Args:
        text: The text.
        most: Its largest number of characters.
    """
    plain = printable(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
