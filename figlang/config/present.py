"""Files that a command line names are looked for before anything else is done."""

from typing import Any

from figlang.config.data import DataConfig
from figlang.config.presets import DEFAULTS
from figlang.config.shorthand import OWN
from figlang.files.missing import no_such_file
from figlang.files.sources import local_path

# Settings of the group data that name a file with items, and the tasks that read them.
NAMED = ("file", "train", "validation", "test")
READING = (OWN, *DEFAULTS.by_columns)


def check_files(config: Any) -> None:
    """Check that the files which data= names exist, before a library that takes seconds is imported.

    Args:
        config: The options of any verb.

    Raises:
        FiglangError: A file does not exist, or is a folder.
    """
    if isinstance(data := getattr(config, "data", None), DataConfig):
        check_data(data)


def check_data(data: DataConfig) -> None:
    """Check that the files with items of one data set exist.

    Args:
        data: The settings of the data set.

    Raises:
        FiglangError: A file does not exist, or is a folder.
    """
    if data.dataset not in READING:
        return  # other tasks refuse these settings themselves
    for name in NAMED:
        given = getattr(data, name)
        if given is not None and not (path := local_path(given)).is_file():
            raise no_such_file(path)
