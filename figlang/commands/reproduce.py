"""Make a table or figure of a paper with any model: `table=TABLE model=smollm2`."""

from rich.console import Console

from figlang import tables
from figlang.config.entry import entry
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.evaluation import reproducing
from figlang.machine.printing import say
from figlang.reports import spending


@entry("reproduce")
def main(config: ReproduceConfig) -> None:
    made = reproducing.reproduce(config)
    console = Console()
    tables.show(made.tables, [*made.below, *([spending.line(made.usage)] if made.usage else [])], console)
    say(str(made.folder), console, "bold")


if __name__ == "__main__":
    main()
