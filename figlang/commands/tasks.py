"""List data sets by task, with their numbers of items: `data=…` takes them."""

import sys
from importlib.metadata import entry_points
from pathlib import Path

from figlang.config import DataConfig, PathsConfig
from figlang.config.entry import entry
from figlang.config.presets import CONF
from figlang.config.verbs.tasks import TasksConfig
from figlang.files.whole import write_text
from figlang.tasks import listing


@entry("tasks")
def main(config: TasksConfig) -> None:
    counts = listing.carried()
    shown = listing.presets(CONF / "data", config.task, _outside(config.paths))
    if config.count:
        # Loading data needs the benchmarks and their libraries, which a list does not.
        from figlang.config.composing import data_presets
        from figlang.tasks import counting

        named = data_presets([each.name for each in shown if not each.dataset])
        named += [DataConfig(each.name, each.name) for each in shown if each.dataset]
        counts = counting.counted(named, config.paths)
        if config.output is not None:
            write_text(Path(config.output), listing.document(counts))
    sys.stdout.write(listing.text(shown, counts))


def _outside(paths: PathsConfig) -> list[listing.Preset]:
    """The benchmarks outside of figlang. If there is none, no benchmark is imported."""
    if paths.tasks is None and not entry_points(group=listing.GROUP):
        return []
    from figlang.tasks import registry

    return [listing.Preset(task.name, task.name, task.title, dataset=True) for task in registry.others(paths)]


if __name__ == "__main__":
    main()
