"""Count the items of data sets, for `figlang tasks count=true`."""

import logging
from collections.abc import Sequence
from dataclasses import fields

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks import registry
from figlang.tasks.listing import Count
from figlang.types import Split

log = logging.getLogger("figlang")


def counted(presets: Sequence[DataConfig], paths: PathsConfig) -> dict[str, Count]:
    """Load each data set and count its items. Data sets that cannot be loaded are named and left out.

    Args:
        presets: The data sets.
        paths: Where their files are.

    Returns:
        Numbers of items and options, by the name of the preset.
    """
    found = {}
    for preset in presets:
        splits = {split: _loaded(split, preset, paths) for split in ("train", "validation", "test")}
        if not any(splits.values()):
            log.info("%s: no files here, so it is not counted", preset.name)
            continue
        sizes = {split: "" if part is None else str(len(part.items)) for split, part in splits.items()}
        found[preset.name] = Count(preset.name, options=_options(list(splits.values())), **sizes)
    return found


def _loaded(split: str, preset: DataConfig, paths: PathsConfig) -> Split | None:
    try:
        return registry.load(split, preset, paths)
    # The data set has no such split, or its files are not here. A benchmark outside of figlang may open them
    # without a word of its own about that.
    except (FiglangError, OSError):
        return None


def _options(splits: Sequence[Split | None]) -> str:
    """The number of options of an item, for example `2`, or `2-4`."""
    counts = {
        len(item.options)
        for split in splits
        if split is not None
        for item in split.items
        if "options" in {spec.name for spec in fields(item)}
    }
    return "-".join(map(str, sorted({min(counts), max(counts)}))) if counts - {0} else ""
