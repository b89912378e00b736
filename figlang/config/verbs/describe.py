"""The options of `describe`."""

from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups.trainer import PathsConfig
from figlang.config.section import COUNT, Command, option


@dataclass
class DescribeConfig(Command):
    """Describe a data set: counts by attribute and, of metaphors, the most frequent subjects, relations and
    objects (Figure 1)."""

    data: DataConfig = field(default_factory=DataConfig)
    split: str | None = option(
        None,
        "Split to describe. null: validation, or train if data.train names the only file.",
        ("train", "validation", "test"),
    )
    parsed: int | None = option(
        8_192,
        "Largest number of items that are parsed for subjects, relations and objects. null: all items.",
        within=COUNT,
    )
    output: str | None = option(None, "Folder of tables and figures. null: a folder below paths.runs.")
    paths: PathsConfig = field(default_factory=PathsConfig)
