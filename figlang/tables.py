"""Tables in a paper's layout, in a terminal and as Markdown: the same cells in both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class PaperTable:
    """A heading and blocks of rows; the first cell of a row is its name."""

    title: str
    heading: Sequence[str]
    blocks: Sequence[Sequence[Sequence[str]]]

    def show(self, console: Console) -> None:
        table = Table(title=escape(self.title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for place, heading in enumerate(self.heading):
            table.add_column(escape(heading), justify="right" if place else "left", no_wrap=place > 0, overflow="fold")
        for block in self.blocks:
            for row in block:
                table.add_row(*map(escape, row))
            table.add_section()
        console.print(table)

    def markdown(self) -> str:
        lines = [_line(self.heading), _line(["---"] + ["---:"] * (len(self.heading) - 1))]
        return "\n".join([f"## {self.title}", "", *lines, *(_line(row) for block in self.blocks for row in block)])


def show(tables: Sequence[PaperTable], below: Sequence[str], console: Console) -> None:
    """Tables, and lines below them."""
    for table in tables:
        table.show(console)
    for text in below:
        console.print(text, style="dim", highlight=False, markup=False, emoji=False, soft_wrap=True)


def markdown(title: str, tables: Sequence[PaperTable], below: Sequence[str]) -> str:
    """The same as a Markdown document."""
    return "\n\n".join([f"# {title}", *(table.markdown() for table in tables), *map(_plain, below)]) + "\n"


def cost(took: Mapping[str, Any]) -> str:
    """What scoring took, in a sentence."""
    if took["ratio"] is None:
        return f"It took {took['seconds']:.0f} s."
    text = (
        f"{took['read']:,} tokens read instead of {took['tokens']:,} one by one ({took['ratio']:.1f} ×) in {took['seconds']:.0f} s."
    )
    if found := took.get("one_by_one"):
        text += f" Measured on {found['questions']} questions: one by one takes {found['ratio']:.1f} × as long."
    return text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    return text.replace("*", "\\*")
