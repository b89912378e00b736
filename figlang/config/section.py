"""What every section of the schema has: fields with a sentence and choices, and checks that say which field is wrong."""

import re
from dataclasses import field, fields
from math import inf
from typing import Any

from figlang.errors import FiglangError


def option(default: Any, sentence: str, choices: tuple[str, ...] = ()) -> Any:
    """A field with its sentence and, where it has some, its valid choices."""
    metadata = {"help": sentence, "choices": choices}
    return field(default=default, metadata=metadata)


class Section:
    """A group of options; choices are checked when it is built."""

    def __post_init__(self) -> None:
        for spec in fields(self):  # type: ignore[arg-type]
            choices, value = spec.metadata.get("choices"), getattr(self, spec.name)
            if choices and value is not None and str(value) not in choices:
                raise FiglangError(f"{self.named(spec.name)}={value} is not a choice; choose one of {', '.join(choices)}")

    @classmethod
    def named(cls, name: str) -> str:
        """A field as it stands on the command line."""
        return name if issubclass(cls, Command) else f"{cls.__name__.removesuffix('Config').lower()}.{name}"


class Command(Section):
    """What a command takes; its own fields stand at the top level."""


def positive(section: str, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not 0 < value < inf:
            raise FiglangError(f"{section}{name}={value} must be above 0 and finite")


def share(section: str, **values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise FiglangError(f"{section}{name}={value} must be at least 0 and below 1")


def seed_in_range(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise FiglangError(f"seed={seed} must be at least 0 and below 2**32")


def plain(section: str, **names: str | None) -> None:
    """A name is part of a path, and must not lead out of its folder."""
    for name, value in names.items():
        if value is not None and (value in (".", "..") or re.search(r"[/\\\0]", value)):
            raise FiglangError(f"{section}{name}={value} is no plain name; leave out slashes, it becomes part of a path")


def holds_places(section: str, template: str) -> None:
    if not re.fullmatch(r"[^{}]*(\{metaphor\}[^{}]*)?\{answer\}[^{}]*", template):
        raise FiglangError(
            f"{section}.template={template!r} must hold {{answer}} once, and before it {{metaphor}} once or not at all"
        )
