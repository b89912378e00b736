"""The key that is meant by an unknown one."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, get_args

from figlang.config.idle import TRAINING
from figlang.config.meanings import MEANINGS
from figlang.config.verbs.train import TrainConfig

# A key that is less alike would be a guess, and a wrong guess is worse than the list of all keys.
ALIKE = 0.75


def meant(key: str, group: str, command: type) -> str | None:
    """Find the keys that an unknown one may stand for.

    Args:
        key: The key, without its group.
        group: The group, for example `data.columns`; empty at the top level.
        command: The options of the verb.

    Returns:
        One or several keys, some with a value, such as `peft=lora`. None: nothing is near.
    """
    known = list(keys_of(command))
    word = key.lower().replace("-", "_")
    for place in (f"{group}.{word}" if group else word, word):
        for answer in MEANINGS.get(place, ()):
            if keys_in(answer) <= set(known):
                return answer
    inside = {
        name.removeprefix(f"{group}."): name for name in known if not group or name.startswith(f"{group}.")
    }
    if near := get_close_matches(word, inside, n=1, cutoff=ALIKE):
        return inside[near[0]]
    # Look in the other groups, the top level first.
    by_name = {name.rpartition(".")[2]: name for name in sorted(known, key=lambda name: -name.count("."))}
    near = get_close_matches(word, by_name, n=1, cutoff=1.0 if group else 0.8)
    return by_name[near[0]] if near else None


def written(name: str, command: type) -> str:
    """Find the key for an option that was written with dashes.

    Args:
        name: The key, with underscores.
        command: The options of the verb.

    Returns:
        The key itself if the verb has it or if nothing else is known to be meant.
    """
    known = list(keys_of(command))
    answers = [answer for answer in MEANINGS.get(name.lower(), ()) if keys_in(answer) <= set(known)]
    inside = sorted((key for key in known if key.rpartition(".")[2] == name), key=lambda key: key.count("."))
    return name if name in known else next(iter([*answers, *inside]), name)


def keys_in(answer: str) -> set[str]:
    """The keys in an answer: `a.b and c.d`, `a=x, a=y or a=z`, or `a=X, where …`."""
    return set(re.findall(r"[a-z_]+(?:\.[a-z_]+)+|(?<![\w.])[a-z_]+(?==)|^[a-z_]+$", answer))


def keys_of(command: type) -> Iterator[str]:
    """The keys of a verb. An evaluation has groups of training too, whose keys have no effect there."""
    for name in _all_keys(command, ""):
        trains = name in TRAINING or name.startswith("method")
        if not trains or issubclass(command, TrainConfig):
            yield name


def _all_keys(section: Any, prefix: str) -> Iterator[str]:
    for spec in fields(section):
        yield f"{prefix}{spec.name}"
        for each in get_args(spec.type) or [spec.type]:
            if is_dataclass(each):
                yield from _all_keys(each, f"{prefix}{spec.name}.")
