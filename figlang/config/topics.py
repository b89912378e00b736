"""`--help GROUP` and `--help FIELD`: every option of a group with its sentence, and every field with its
type, default and sentence."""

import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from figlang.config.roots import Root
from figlang.config.section import Range
from figlang.errors import FiglangError

COLUMNS = 80
WIDTH = 20  # of the column of options, unless a name is longer
KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def chapters(root: Root) -> list[str]:
    """The groups of a verb in the order of their names, and `fields` for those that are in no group."""
    groups = {spec.name for spec in fields(root.schema) if _section(root.schema, spec.name) is not None}
    return [*sorted(groups | ({"debug", "experiment"} if root.repeats else set())), "fields"]


def presets_of(group: str, folder: Path) -> list[str]:
    """The names of the options of a group; none if it has only fields."""
    return sorted(path.stem for path in (folder / group).glob("*.yaml"))


def headline(preset: Path) -> str:
    """The first comment of a preset, which says what it is."""
    lines = preset.read_text(encoding="utf-8").splitlines()
    return next((line[1:].strip() for line in lines if line.startswith("# ") and "@package" not in line), "")


def topic(asked: str, root: Root, folder: Path) -> str:
    """The help about a group or a field.

    Args:
        asked: The name of a group, of a field (with or without its group), or `fields`.
        root: The options of the verb.
        folder: The folder with a folder of presets for each group.

    Returns:
        Lines of at most 80 characters. Only the sentence of an option may be longer.

    Raises:
        FiglangError: There is no such group or field.
    """
    name = asked.partition("=")[0].lstrip("+")
    if name in chapters(root):
        return "\n".join([*_options(name, folder), *_fields(name, root)])
    known = dict(every(root))
    found = [full for full in known if name in (full, full.rpartition(".")[2])]
    if not found:
        names = [*chapters(root), *known]
        # A name without its group is looked for by the last part of each field.
        ends = {full.rpartition(".")[2]: full for full in reversed(known)}
        close = get_close_matches(name, names, n=1) or [
            ends.get(each, each) for each in get_close_matches(name, [*ends, *names], n=1)
        ]
        meant = f"did you mean {close[0]}? " if close else ""
        groups = ", ".join(chapters(root))
        raise FiglangError(f"there is no group or field {asked}; {meant}the groups are {groups}")
    return "\n".join(line for full in found for line in _field(full, *known[full]))


def _options(group: str, folder: Path) -> list[str]:
    files = sorted((folder / group).glob("*.yaml"))
    if not files:
        return []
    width = max([WIDTH, *(len(file.stem) for file in files)]) + 2
    lines = [f"Options of {group}=:"]
    for file in files:
        first = f"  {file.stem:<{width}}"
        lines += textwrap.wrap(
            headline(file),
            max(COLUMNS, width + 50),
            initial_indent=first,
            subsequent_indent=" " * (width + 2),
            break_on_hyphens=False,
            break_long_words=False,
        ) or [first]
    return lines


def _fields(group: str, root: Root) -> list[str]:
    own = [
        line
        for full, (spec, kind) in every(root)
        if full.partition(".")[0] == group or (group == "fields" and "." not in full)
        for line in _field(full, spec, kind)
    ]
    return ["", "Fields:", *own] if own and group != "fields" else own


def every(root: Root) -> Iterator[tuple[str, tuple[Field[Any], Any]]]:
    """Every field of a verb by its full name, with its type."""
    yield from _inside(root.schema, "")


def _inside(schema: type, before: str) -> Iterator[tuple[str, tuple[Field[Any], Any]]]:
    hints = get_type_hints(schema)
    for spec in fields(schema):
        section = _section(schema, spec.name)
        if section is None:
            yield f"{before}{spec.name}", (spec, hints[spec.name])
        else:
            yield from _inside(section, f"{before}{spec.name}.")


def _section(schema: type, name: str) -> Any:
    """The class of a group; None for a field."""
    hint = get_type_hints(schema)[name]
    return next((each for each in (hint, *get_args(hint)) if is_dataclass(each)), None)


def _field(full: str, spec: Field[Any], kind: Any) -> list[str]:
    given = spec.default if spec.default_factory is MISSING else spec.default_factory()
    default = "" if given == "???" else f", default {_value(given)}"
    head = f"  {full:<26} {_kind(kind, spec.metadata)}{default}"
    whole = f"{spec.metadata['help']}"
    return [
        *textwrap.wrap(head, COLUMNS, subsequent_indent=" " * 29, break_on_hyphens=False),
        *textwrap.wrap(whole, COLUMNS, initial_indent=" " * 6, subsequent_indent=" " * 6),
    ]


def _value(given: Any) -> str:
    if given is None:
        return "null"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, list):
        return f"[{','.join(map(str, given))}]"
    return str(given) if given != "" else "empty"


def _kind(kind: Any, metadata: Any) -> str:
    """A type in words, with its choices or its range."""
    args = [each for each in get_args(kind) if each is not NoneType]
    null = " or null" if NoneType in get_args(kind) else ""
    if choices := metadata["choices"]:
        return f"{'|'.join(choices)}{null}"
    if get_origin(kind) in (list, tuple):
        return "list [a,b,…]"
    if get_origin(kind) is dict:
        return "names with " + ("numbers {a: 1, b: 0.5}" if args[1] is float else "values {a: 1, b: text}")
    if null and args and get_origin(args[0]) in (list, tuple):
        return f"list [a,b,…]{null}"
    within: Range | None = metadata.get("within")
    bounds = f" ({within.words()})" if within is not None else ""
    return f"{KINDS.get(args[0] if null else kind, 'text')}{bounds}{null}"
