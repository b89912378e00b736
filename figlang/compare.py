"""Systems beside each other on the same items: `python -m figlang.compare RUN RUN …`.

A run is a run folder, an evaluation folder or a predictions file; seeds of one recipe are pooled. `python -m figlang.report` with
the same runs lets the items be browsed on which they differ.
"""

from pathlib import Path

from rich.console import Console

from figlang import systems, tables
from figlang.command import entry
from figlang.comparison import every_pair, mean_accuracy, mean_pair_accuracy
from figlang.config import CompareConfig
from figlang.report import differences
from figlang.tables import Table


@entry("compare", CompareConfig)
def main(config: CompareConfig) -> None:
    read = systems.read(config.runs)
    pools = systems.pooled(read)
    found = every_pair([pool.runs for pool in pools], config.seed)
    systems.check_data(read)
    each = tuple(
        (pool.name, len(pool.systems), mean_accuracy(pool.runs, config.seed), mean_pair_accuracy(pool.runs, config.seed))
        for pool in pools
    )
    shown = [Table("systems", "Systems", ("system", "runs", "accuracy", "pair accuracy"), each), differences.table(pools, found)]
    console = Console()
    tables.show(shown, differences.notes(pools), console, left=("against",))
    if config.output is not None:
        tables.write(shown, Path(config.output))
        console.print(config.output, style="bold", highlight=False, markup=False, emoji=False, soft_wrap=True)


if __name__ == "__main__":
    main()
