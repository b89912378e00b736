"""Options that hold a list: `seeds=0,1` is a list of two, with or without brackets."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from figlang.config.typed import text

# Values that Hydra or OmegaConf makes: a list, a dictionary, another option's value, a function.
_MADE = re.compile(r"[\[{]|.*\$\{|[a-z_]+\(.*\)$|null$", flags=re.IGNORECASE)
# A value in quotes, or what stands before a comma.
_PART = re.compile(r"""\s*(?:'(.*?)'|"(.*?)")\s*,|([^,]*),""")


@cache
def of(schema: type) -> Mapping[str, type]:
    """The options that hold a list, by name, and the type of an entry.

    Args:
        schema: The options of a verb.

    Returns:
        Those of the verb and of its groups, for example `also` and `data.columns.attributes`.
    """
    found: dict[str, type] = {}
    for spec in fields(schema):
        for kind in _kinds(spec.type):
            if isinstance(kind, type) and is_dataclass(kind):
                found |= {f"{spec.name}.{name}": entry for name, entry in of(kind).items()}
            elif get_origin(kind) in (list, tuple):
                found[spec.name] = get_args(kind)[0]
    return found


def _kinds(kind: Any) -> list[Any]:
    """The types that a field may have, without None."""
    several = get_args(kind) if get_origin(kind) is not list and NoneType in get_args(kind) else (kind,)
    return [each for each in several if each is not NoneType]


def word(key: str, value: str, entry: type, several: bool) -> str:
    """The word for a list that may stand without brackets.

    Args:
        key: The name of the option.
        value: What was typed. Commas separate entries, unless all of it is one path or in quotes.
        entry: The type of an entry.
        several: Whether a command tries several values (-m). Then each entry is a list of its own.
    """
    if _MADE.match(value):
        return f"{key}={value}"
    entries = [part if entry is float else text(part) for part in parts(value)]
    return f"{key}={','.join(f'[{each}]' for each in entries)}" if several else f"{key}=[{','.join(entries)}]"


def parts(value: str) -> list[str]:
    """The values of a word between commas, without quotes and spaces around them. A path that exists is one
    value, and a comma in quotes separates nothing."""
    if Path(value).exists():
        return [value]
    found = [(quoted or also, bare) for quoted, also, bare in _PART.findall(f"{value},")]
    return [quoted or bare.strip() for quoted, bare in found if quoted or bare.strip()]
