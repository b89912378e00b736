"""Compare systems on the same items: `figlang compare RUN RUN …`.

A run is a run folder, an evaluation folder or a predictions file. Runs that differ only in their seed count
as one system. `figlang report` with the same runs shows the items on which they differ.
"""

from rich.console import Console

from figlang import tables
from figlang.api import comparing
from figlang.config import CompareConfig
from figlang.config.entry import entry
from figlang.machine.printing import say
from figlang.runs import names
from figlang.runs.passing import results_among


@entry("compare")
def main(config: CompareConfig) -> None:
    rename, console = names.renaming(config.rename), Console()
    found = comparing.of_paths(results_among(config.runs, 2), rename, config.join, config.common)
    shown = found.tables()
    where = f"the tables in {config.output}" if config.output else "output=FOLDER, which writes them"
    pointer = () if found.table in shown else (f"{len(found.pairs):,} pairs of systems: see {where}.",)
    tables.show(shown, (*found.lines(), *pointer), console)
    if config.output is not None:
        found.write(config.output)
        say(config.output, console, "bold")


if __name__ == "__main__":
    main()
