"""Words of a command line that Hydra cannot read.

Errors say how to write such a word. The words that a W&B agent adds to a restarted run are removed.
"""

import ast
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from figlang.errors import FiglangError

# Hydra's parser names its own tokens.
UNREADABLE = (
    "mismatched input",
    "no viable alternative",
    "NoViableAlt",
    "extraneous input",
    "missing EQUAL",
    "token recognition",
)
# Only the arguments of a restarted run hold this.
MARK = "_wandb="

# Hydra's own options.
SHORT = ("-c", "-p", "-r", "-m", "-i", "-sc", "-cp", "-cn", "-cd")
LONG = (
    "hydra-help",
    "version",
    "cfg",
    "resolve",
    "package",
    "run",
    "multirun",
    "info",
    "shell-completion",
    "experimental-rerun",
)
FLAGS = {*SHORT, *(f"--{name}" for name in (*LONG, "config-path", "config-name", "config-dir"))}
LITERALS = ("true", "false", "null", "nan", "inf")  # words that Hydra reads as something else than text
NO_PRESETS = ("", "null", "true", "false")
_KEY = re.compile(r"[+~]{0,2}[A-Za-z_][\w./@-]*")
# Options that name a folder. An empty name, as of an unset variable of a shell, would be the current folder.
FOLDERS = re.compile(r"run|output|folder|paths\.\w+|data\.root")
EMPTY = ("", "''", '""')
LONGEST = 200  # characters of a key: Hydra looks for a file of this name


def text(plain: str) -> str:
    """Quote a value so that Hydra's grammar reads any text unchanged. A plain path or word gets no quotes."""
    if re.fullmatch(r"[A-Za-z_][\w.-]*", plain, flags=re.ASCII) and plain.lower() not in LITERALS:
        return plain
    if re.fullmatch(r"[\w.-]*(/[\w.-]+)+", plain, flags=re.ASCII):
        return plain
    escaped = re.sub(r"\\+$", lambda end: end[0] * 2, plain.replace("'", "\\'"))
    return f"'{escaped}'"


def quoted(word: str) -> str:
    """A setting that Hydra cannot read, with its texts in quotes: `run=runs/Läufe/1`, or a list of paths.

    Args:
        word: The word.

    Returns:
        The setting. One with quotes, braces or other grammar within its texts is as it was.
    """
    key, equals, value = word.partition("=")
    listed = value[:1] == "[" and value[-1:] == "]"
    inside = value[1:-1] if listed else value
    if not equals or not _KEY.fullmatch(key) or not inside.strip() or set(inside) & set("'\"\\$()[]{}"):
        return word
    parts = ((part, part.strip()) for part in inside.split(","))
    texts = ",".join(part.replace(plain, text(plain)) if plain else text("") for part, plain in parts)
    return f"{key}=[{texts}]" if listed else f"{key}={texts}"


def advice(word: str) -> str:
    """Say how to write a word that Hydra cannot read, in quotes for the shell."""
    key, equals, value = word.partition("=")
    if not equals or not _KEY.fullmatch(key):
        return f"cannot read the argument {word!r}; arguments are key=value, and --help lists the keys"
    if value[:1] == "[" and value[-1:] == "]":
        return f"cannot read the list in {word!r}; put each of its texts in quotes: {key}=['…','…']"
    return (
        f"cannot read the value in {word!r}; put it in quotes, and in quotes for the shell too: "
        f"{shlex.quote(f'{key}={text(value)}')}"
    )


def check(
    words: Sequence[str], presets: Mapping[str, Collection[str]], written: Callable[[str], str] = str
) -> None:
    """Refuse words that have no meaning here.

    Hydra would accept some of them, and refuse others with an error of many lines.

    Args:
        words: The words of the command line.
        presets: The names of each group's presets.
        written: Gives the key for the name of an option with dashes.

    Raises:
        FiglangError: A word has no meaning.
    """
    for place, word in enumerate(words):
        key, _, value = word.partition("=")
        group = key.lstrip("+")
        if word.startswith("-") and key not in FLAGS:
            raise FiglangError(_without_dashes(words, place, written))
        if word.startswith("~"):
            raise FiglangError(f"{word[:LONGEST]} cannot be left out; set another value with key=value")
        if len(key) > LONGEST:
            raise FiglangError(f"unknown key {key[:40]}… of {len(key)} characters; --help lists the keys")
        if FOLDERS.fullmatch(group) and value in EMPTY:
            raise FiglangError(f"{group}= is empty; give the name of a folder")
        if value == "???":
            raise FiglangError(f"{word} has no value; give a value, or leave the argument out")
        several = value.startswith("[") and value != "[]" and group == "experiment"
        if (
            "=" in word
            and group in presets
            and (value.lower() in NO_PRESETS or value[0] in "[{")
            and not several
        ):
            raise FiglangError(
                f"{word} does not name a preset; choose one of {', '.join(sorted(presets[group]))}"
            )


def _without_dashes(words: Sequence[str], place: int, written: Callable[[str], str]) -> str:
    """The words to write for `--model=roberta`, or for `--model roberta`."""
    word = words[place]
    key, equals, value = word.partition("=")
    name = key.lstrip("-").replace("-", "_")
    if not equals and place + 1 < len(words) and not re.search(r"^-|=", words[place + 1]):
        value = words[place + 1]
    asked = f"{word} {value}" if value and not equals else word
    if re.fullmatch(r"[A-Za-z_][\w./]+", name) and len(asked) <= LONGEST:
        key = written(name)
        meant = f"write {key}" if re.search(r"[= ]", key) else f"write {key}={value or 'VALUE'}"
        return f"{asked} is not an option; arguments have no dashes: {meant} (--help lists the keys)"
    return (
        f"{word[:LONGEST]} is not an option; arguments are key=value without dashes, and --help lists the "
        "keys"
    )


def check_bare(words: Sequence[str], keys: Collection[str]) -> None:
    """Refuse `model roberta`, where `model=roberta` is meant. Raises FiglangError.

    Args:
        words: The words of the command line.
        keys: The names of groups and fields.
    """
    for word, value in pairwise(words):
        if word in keys and not re.search(r"^-|=", value):
            raise FiglangError(f"{word} {value}: write {word}={value}; arguments are key=value")


def without_configuration(
    words: Sequence[str], presets: Mapping[str, Collection[str]], settings: Collection[str]
) -> list[str]:
    """Remove the arguments that a W&B agent adds when it restarts a run of a sweep.

    The agent gives the whole logged configuration as arguments, beside the swept keys: groups as Python
    dictionaries, settings of the top level, and W&B's own settings. A group is replaced by the preset with
    its name, unless the command line names a preset.

    Args:
        words: The words of the command line.
        presets: The names of each group's presets.
        settings: The keys of the top level that are not groups.
    """
    if not any(word.startswith(MARK) for word in words):
        return list(words)
    kept: list[str] = []
    named: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if value.startswith("{") and "." not in key:
            if key in presets and (name := _name(value)) in presets[key]:
                named[key] = str(name)
        elif key != "seed" and key in settings and word not in words[: _first_of_configuration(words)]:
            continue
        else:
            kept.append(word)
    given = {word.partition("=")[0] for word in kept}
    return [*kept, *(f"{key}={name}" for key, name in named.items() if key not in given)]


def _first_of_configuration(words: Sequence[str]) -> int:
    """Return the place of the first argument of the agent: a setting of W&B, or a dictionary."""
    return next(place for place, word in enumerate(words) if word.startswith(MARK) or "={" in word)


def _name(value: str) -> object:
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return None
    return found.get("name") if isinstance(found, dict) else None
