"""Compare systems on the same items: `figlang compare RUN RUN …`.

A run is a run folder, an evaluation folder or a predictions file. Runs that differ only in their seed count
as one system. `figlang report` with the same runs shows the items on which they differ.
"""

from pathlib import Path

from rich.console import Console

from figlang import tables
from figlang.config import CompareConfig
from figlang.config.entry import entry
from figlang.files import folders
from figlang.machine import bars
from figlang.report import differences
from figlang.runs import names, systems
from figlang.statistics.comparison import every_pair

MOST = 10  # pairs of systems that the terminal shows; more are in the files


@entry("compare")
def main(config: CompareConfig) -> None:
    read = systems.across_forms(systems.read(config.runs, config.join))
    rename = names.renaming(config.rename)
    pools = systems.pooled(read, rename)
    systems.check_renamed(pools, rename)
    systems.check_data(read)
    compared = every_pair([pool.runs for pool in pools], lambda pairs: bars.track(pairs, "comparing"))
    made = [differences.ranking(pools, compared), differences.table(pools, compared)]
    console = Console()
    few = len(compared) <= MOST
    below = (*differences.notes(pools), differences.GROUPS)
    where = f"the tables in {config.output}" if config.output else "output=FOLDER, which writes them"
    pointer = () if few else (f"{len(compared):,} pairs of systems: see {where}.",)
    tables.show(made if few else made[:1], (*below, *pointer), console)
    if config.output is not None:
        with folders.replaced(Path(config.output), "a comparison") as new:
            tables.write(made, new)
        console.print(config.output, style="bold", highlight=False, markup=False, emoji=False, soft_wrap=True)


if __name__ == "__main__":
    main()
