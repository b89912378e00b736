"""Systems beside each other on the same items: `python -m figlang.compare RUN RUN …`.

A run is a run folder, an evaluation folder or a predictions file; seeds of one recipe are pooled. `python -m figlang.report` with
the same runs lets the items be browsed on which they differ.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from figlang import folders, systems, tables
from figlang.command import entry
from figlang.comparison import Compared, every_pair, mean_accuracy, mean_pair_accuracy
from figlang.config import CompareConfig
from figlang.report import differences
from figlang.report.terminal import BLIND, GAIN
from figlang.statistics.clustered import LEVEL
from figlang.statistics.letters import letters
from figlang.systems import Pool
from figlang.tables import Cell, Table

MOST = 10  # pairs of systems that the terminal shows; more are in the files
GROUPS = "Group: systems that share a letter do not differ in accuracy (p by Holm at .05 or above)."


@entry("compare", CompareConfig)
def main(config: CompareConfig) -> None:
    read = systems.across_forms(systems.read(config.runs))
    pools = systems.pooled(read)
    systems.check_data(read)
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        found = every_pair([pool.runs for pool in pools], lambda pairs: bar.track(pairs, description="comparing"))
    made = [_systems(pools, found), differences.table(pools, found)]
    console = Console()
    few = len(found) <= MOST
    below = (*differences.notes(pools), GROUPS)
    where = f"the tables in {config.output}" if config.output else "output=FOLDER, which writes them"
    pointer = () if few else (f"{len(found):,} pairs of systems: see {where}.",)
    tables.show(made if few else made[:1], (*below, *pointer), console, left=("against",))
    if config.output is not None:
        with folders.replaced(Path(config.output)) as new:
            tables.write(made, new)
        console.print(config.output, style="bold", highlight=False, markup=False, emoji=False, soft_wrap=True)


def _systems(pools: Sequence[Pool], found: Sequence[Compared]) -> Table:
    """The systems from the best to the last, with the letters of those that do not differ in accuracy."""
    accuracies = [mean_accuracy(pool.runs) for pool in pools]
    shares = [0.0 if one is None else one.value for one in accuracies]
    order = sorted(range(len(pools)), key=lambda place: -shares[place])
    apart = np.zeros((len(pools), len(pools)), bool)
    for one in found:
        apart[one.first, one.second] = apart[one.second, one.first] = one.items_holm < LEVEL
    groups = letters(apart, order)
    columns: list[tuple[str, list[Cell]]] = [
        ("system", [pool.name for pool in pools]),
        ("runs", [len(pool.systems) for pool in pools]),
        ("accuracy", [*accuracies]),
        ("group", [*groups]),
        ("pair accuracy", [mean_pair_accuracy(pool.runs) for pool in pools]),
    ]
    if any(gains := [pool.gain() for pool in pools]):
        columns += [(BLIND, [_blind(pool) for pool in pools]), (GAIN, [*gains])]
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    names = tuple(name for name, _ in columns)
    return Table("systems", "Systems", names, tuple(rows[place] for place in order), (GROUPS,))


def _blind(pool: Pool) -> Cell:
    return mean_accuracy([system.blind for system in pool.systems]) if pool.gain() else None


if __name__ == "__main__":
    main()
