"""The command line as a user typed it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Given:
    """A command line: its words as they were typed, the preset of each group, and whether it is a
    multirun."""

    words: tuple[str, ...]
    choices: Mapping[str, str]
    multirun: bool

    @property
    def names(self) -> list[str]:
        """The fields and groups that were typed, by name."""
        return [word.lstrip("+").split("=")[0] for word in self.words]
