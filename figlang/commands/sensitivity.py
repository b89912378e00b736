"""Ask a chat model in several wordings of a question: `model=smollm2 data=NAME protocol=letter`."""

from rich.console import Console

from figlang import tables
from figlang.config import SensitivityConfig
from figlang.config.entry import entry
from figlang.evaluation import sensitivity
from figlang.machine.printing import say


@entry("sensitivity")
def main(config: SensitivityConfig) -> None:
    measured = sensitivity.measure(config)
    if measured is None:
        return  # a dry run
    table, folder = measured
    console = Console()
    tables.show([table], [], console)
    say(str(folder), console, "bold")


if __name__ == "__main__":
    main()
