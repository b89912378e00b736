"""List data sets by task, with their numbers of items: `data=…` takes them."""

import sys
from pathlib import Path

from figlang.config.entry import entry
from figlang.config.presets import CONF
from figlang.config.verbs.tasks import TasksConfig
from figlang.files.whole import write_text
from figlang.tasks import listing


@entry("tasks")
def main(config: TasksConfig) -> None:
    counts = listing.carried()
    if config.count:
        # Loading data needs the benchmarks and their libraries, which a list does not.
        from figlang.config.composing import data_presets
        from figlang.tasks import counting

        names = [preset.name for preset in listing.presets(CONF / "data", config.task)]
        counts = counting.counted(data_presets(names), config.paths)
        if config.output is not None:
            write_text(Path(config.output), listing.document(counts))
    sys.stdout.write(listing.text(listing.presets(CONF / "data", config.task), counts))


if __name__ == "__main__":
    main()
