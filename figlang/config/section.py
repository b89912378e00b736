"""The base of every section of the schema: fields with help and choices, and checks that name a wrong
field."""

import re
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any

from figlang.errors import FiglangError


@dataclass(frozen=True)
class Range:
    """The finite numbers that a field takes: at least `least` or greater than `above`; at most `most` or less
    than `below`.

    The largest count is what the libraries can hold, far more than anybody needs.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def _ends(self) -> tuple[str, str]:
        lower = f"above {self.above:g}" if self.above is not None else f"at least {self.least:g}"
        upper = (
            f"below {_plainly(self.below)}" if self.below is not None else f"at most {_plainly(self.most)}"
        )
        return lower, upper

    def words(self) -> str:
        """The range in words, for example `above 0, at most 24`. Ends that nobody reaches are left out."""
        lower, upper = self._ends()
        end = self.below if self.below is not None else self.most
        return lower if end is not None and end >= 2**24 else f"{lower}, {upper}"

    def fault(self, value: float) -> str | None:
        """The end of the sentence "it must be …" for a number out of the range; None for a number in it."""
        lower, upper = self._ends()
        if isinstance(value, float) and not isfinite(value):
            return f"{lower} and finite"
        low = value > self.above if self.above is not None else value >= (self.least or 0)
        high = value < self.below if self.below is not None else value <= (self.most or 0)
        return None if low and high else f"{lower} and {upper}"


def _plainly(number: float | None) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


COUNT = Range(above=0, most=2**31 - 1)
NUMBER = Range(least=0, most=2**31 - 1)
TOKENS = Range(above=0, most=2**24)  # tokens of one text; no network reads more
POSITIVE = Range(above=0, most=1e9)
AMOUNT = Range(least=0, most=1e9)
SHARE = Range(least=0, below=1)
SEED = Range(least=0, below=2**32)

# Sentences about fields that several commands have.
BLIND = (
    "Also score the options with the context hidden, and report how much the context adds. Chat models and "
    "endpoints are then asked twice; false asks them once."
)
RENAME = (
    "New names of systems: rename='OLD=NEW' or --rename 'OLD=NEW', again for each system. OLD is a name that "
    "the command shows, or the folder of a run."
)
RUNS = (
    "Run folders, evaluation folders or predictions files. Also results of other tools: samples_*.jsonl of "
    "lm-evaluation-harness, .eval or .json logs of inspect_ai, and CSV, TSV or JSONL files with the columns "
    "id, gold, and choice or scores. Words without `=` are taken as runs."
)
JOIN = (
    "Results of other tools: the column that holds the id of an item, for example doc.name. null: id, or "
    "doc_id of lm-evaluation-harness."
)

# Bytes of a name: file systems take 255, made names have up to 160, and figures and reports add to them.
LONGEST = 200


def option(default: Any, sentence: str, choices: tuple[str, ...] = (), within: Range | None = None) -> Any:
    """A field with its sentence.

    Args:
        default: Its value unless one is given.
        sentence: What `--help` says of it.
        choices: The values that it can have; empty if there is no list of them.
        within: For a number, the range that it lies within.

    Returns:
        The field of a dataclass.
    """
    metadata = {"help": sentence, "choices": choices, "within": within}
    return field(default=default, metadata=metadata)


def words(sentence: str, default: tuple[Any, ...] = (), within: Range | None = None) -> Any:
    """A field that holds a list, with its sentence.

    Args:
        sentence: The help of the field.
        default: The list that it holds unless one is given.
        within: For numbers, the range that each lies within.

    Returns:
        The field of a dataclass.
    """
    metadata = {"help": sentence, "choices": (), "within": within}
    return field(default_factory=lambda: [*default], metadata=metadata)


class Section:
    """A group of options; choices, ranges of numbers and names are checked when it is built."""

    def __post_init__(self) -> None:
        for spec in fields(self):  # type: ignore[arg-type]
            choices, value = spec.metadata.get("choices"), getattr(self, spec.name)
            if choices and value is not None and str(value) not in choices:
                raise FiglangError(
                    f"{self.named(spec.name)}={value} is not a choice; choose one of {', '.join(choices)}"
                )
            within: Range | None = spec.metadata.get("within")
            if (
                within is None
                and isinstance(value, list)
                and (odd := [entry for entry in value if not isinstance(entry, str)])
            ):
                raise FiglangError(
                    f"{self.named(spec.name)} holds {odd[0]!r}; give a list of words, such as [a,b]"
                )
            for number in value if isinstance(value, list) else [value]:
                if within is None or number is None:
                    continue
                # A file that Hydra did not read may hold any type.
                if isinstance(number, bool) or not isinstance(number, int | float):
                    raise FiglangError(f"{self.named(spec.name)}={number!r} is not a number")
                if (fault := within.fault(number)) is not None:
                    raise FiglangError(f"{self.named(spec.name)}={_brief(number)} must be {fault}")
        self.check_names()

    def check_names(self) -> None:
        """Raises FiglangError for a `name` that cannot be part of a path."""
        name = getattr(self, "name", None)
        if name == "" and getattr(type(self), "name", None):
            raise FiglangError(f"{self.named('name')}= is empty; give a name, or leave it out")
        plain(self.named(""), name=name)

    @classmethod
    def named(cls, name: str) -> str:
        """The name of a field on the command line."""
        return name if issubclass(cls, Command) else f"{cls.__name__.removesuffix('Config').lower()}.{name}"


class Command(Section):
    """The options of a command. Its own fields are at the top level."""


def _brief(number: float) -> str:
    text = str(number)
    return text if len(text) <= 40 else f"{text[:20]}… ({len(text)} digits)"


def plain(section: str, **names: str | None) -> None:
    """Check a name, which is part of paths and figures: one short line of text, without slashes."""
    for name, value in names.items():
        if value is None:
            continue
        if not value.isprintable():
            raise FiglangError(
                f"{section}{name}={value[:40]!r} holds a line break or control character; give one line of "
                "text"
            )
        if value in (".", "..") or re.search(r"[/\\]", value):
            raise FiglangError(
                f"{section}{name}={value} is not a plain name; leave out slashes, it becomes part of a path"
            )
        if (size := len(value.encode("utf-8", "surrogatepass"))) > LONGEST:
            raise FiglangError(
                f"{section}{name}={value[:20]}… has {size} bytes; give a name of at most {LONGEST}"
            )


def holds_places(section: str, template: str) -> None:
    """Raises FiglangError unless a template has {answer} once, and before it {metaphor} once or not."""
    if not re.fullmatch(r"[^{}]*(\{metaphor\}[^{}]*)?\{answer\}[^{}]*", template):
        raise FiglangError(
            f"{section}.template={template!r} must hold {{answer}} once, and before it {{metaphor}} once or "
            "not at all"
        )
