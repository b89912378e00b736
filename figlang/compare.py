"""Systems beside each other on the same items: `python -m figlang.compare RUN RUN …`.

A run is a run folder, an evaluation folder or a predictions file; seeds of one recipe are pooled. `python -m figlang.report` with
the same runs lets the items be browsed on which they differ.
"""

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen

from figlang import systems
from figlang.command import entry
from figlang.comparison import every_pair, mean_accuracy, mean_pair_accuracy
from figlang.config import CompareConfig
from figlang.report import differences, tables
from figlang.report.tables import Table


@entry("compare", CompareConfig)
def main(config: CompareConfig) -> None:
    pools = systems.pooled(systems.read(config.runs))
    found = every_pair([pool.runs for pool in pools], config.seed)
    each = tuple(
        (pool.name, len(pool.systems), mean_accuracy(pool.runs, config.seed), mean_pair_accuracy(pool.runs, config.seed))
        for pool in pools
    )
    shown = [Table("systems", "Systems", ("system", "runs", "accuracy", "pair accuracy"), each), differences.table(pools, found)]
    console = Console()
    for table in shown:
        console.print(_screen(table))
    for note in differences.NOTES:
        console.print(note, style="dim", highlight=False, markup=False, soft_wrap=True)
    if config.output is not None:
        tables.write(shown, Path(config.output))
        console.print(config.output, style="bold", highlight=False, markup=False, emoji=False, soft_wrap=True)


def _screen(table: Table) -> Screen:
    screen = Screen(title=table.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        left = column in ("system", "against")
        screen.add_column(column, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for row in table.rows:
        screen.add_row(*(escape(tables.text(cell)) for cell in row))
    return screen


if __name__ == "__main__":
    main()
