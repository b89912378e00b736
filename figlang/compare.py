"""Systems beside each other on the same items: `python -m figlang.compare RUN RUN …`.

A run is a run folder, an evaluation folder or a predictions file; seeds of one recipe are pooled. `python -m figlang.report` with
the same runs lets the items be browsed on which they differ.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from figlang import systems, tables
from figlang.command import entry
from figlang.comparison import every_pair, mean_accuracy, mean_pair_accuracy
from figlang.config import CompareConfig
from figlang.report import differences
from figlang.report.terminal import BLIND, GAIN
from figlang.systems import Pool
from figlang.tables import Cell, Table


@entry("compare", CompareConfig)
def main(config: CompareConfig) -> None:
    read = systems.across_forms(systems.read(config.runs))
    pools = systems.pooled(read)
    found = every_pair([pool.runs for pool in pools])
    systems.check_data(read)
    shown = [_systems(pools), differences.table(pools, found)]
    console = Console()
    tables.show(shown, differences.notes(pools), console, left=("against",))
    if config.output is not None:
        tables.write(shown, Path(config.output))
        console.print(config.output, style="bold", highlight=False, markup=False, emoji=False, soft_wrap=True)


def _systems(pools: Sequence[Pool]) -> Table:
    columns: list[tuple[str, list[Cell]]] = [
        ("system", [pool.name for pool in pools]),
        ("runs", [len(pool.systems) for pool in pools]),
        ("accuracy", [mean_accuracy(pool.runs) for pool in pools]),
        ("pair accuracy", [mean_pair_accuracy(pool.runs) for pool in pools]),
    ]
    if any(gains := [pool.gain() for pool in pools]):
        columns += [(BLIND, [_blind(pool) for pool in pools]), (GAIN, [*gains])]
    rows = zip(*(cells for _, cells in columns), strict=True)
    return Table("systems", "Systems", tuple(name for name, _ in columns), tuple(rows))


def _blind(pool: Pool) -> Cell:
    return mean_accuracy([system.blind for system in pool.systems]) if pool.gain() else None


if __name__ == "__main__":
    main()
