"""The options of `tasks`."""

from dataclasses import dataclass, field

from figlang.config.groups.trainer import PathsConfig
from figlang.config.section import Command, option


@dataclass
class TasksConfig(Command):
    """List the presets of data= by task: what they are, how many items and options they have. Benchmarks of
    paths.tasks= and of installed packages, which have no preset, are among them."""

    task: str | None = option(None, "Show this task only. null: all tasks.")
    count: bool = option(
        False,
        "Load every data set that can be reached and count its items. false: show the numbers that figlang "
        "carries, which are counts of the published files.",
    )
    output: str | None = option(None, "count: CSV file that the counts are written to.")
    paths: PathsConfig = field(default_factory=PathsConfig)
