"""Words of a command line that Hydra cannot read: what is wrong with one, and those that an agent of W&B
gives back."""

import ast
import re
import shlex
from collections.abc import Collection, Mapping, Sequence

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
# What a requeued run's arguments hold, and no command line of ours.
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
LONGEST = 200  # of a key, which Hydra looks for as a file


def text(plain: str) -> str:
    """A value that Hydra's grammar takes as it is, whatever is in it; a plain path stays readable."""
    if re.fullmatch(r"[\w.-]*(/[\w.-]+)+", plain, flags=re.ASCII):
        return plain
    escaped = re.sub(r"\\+$", lambda end: end[0] * 2, plain.replace("'", "\\'"))
    return f"'{escaped}'"


def advice(word: str) -> str:
    """The sentence about a word that Hydra cannot read: how to write it for a shell."""
    key, equals, value = word.partition("=")
    if not equals or not re.fullmatch(r"[+~]{0,2}[A-Za-z_][\w./@-]*", key):
        return f"cannot read the argument {word!r}; arguments are key=value, and --help lists the keys"
    return (
        f"cannot read the value in {word!r}; quote it twice, once for the shell: "
        f"{shlex.quote(f'{key}={text(value)}')}"
    )


def check(words: Sequence[str], presets: Mapping[str, Collection[str]]) -> None:
    """Raises FiglangError for a word that Hydra would take, or refuse in many lines, and that means nothing
    here."""
    for word in words:
        key, _, value = word.partition("=")
        group = key.lstrip("+")
        if word.startswith("-") and key not in FLAGS:
            raise FiglangError(
                f"{word[:LONGEST]} is not an option; arguments are key=value without dashes, and --help "
                "lists the keys"
            )
        if word.startswith("~"):
            raise FiglangError(f"{word[:LONGEST]} cannot be left out; set another value with key=value")
        if len(key) > LONGEST:
            raise FiglangError(f"unknown key {key[:40]}… of {len(key)} characters; --help lists the keys")
        if value == "???":
            raise FiglangError(f"{word} is not a value; give one, or leave the argument out")
        several = value.startswith("[") and value != "[]" and group == "experiment"
        if "=" in word and group in presets and (value in ("", "null") or value[0] in "[{") and not several:
            raise FiglangError(
                f"{word} does not name a preset; choose one of {', '.join(sorted(presets[group]))}"
            )


def without_configuration(
    words: Sequence[str], presets: Mapping[str, Collection[str]], settings: Collection[str]
) -> list[str]:
    """The words of a sweep's run that is begun again, without its configuration, which W&B's agent gives back
    as arguments.

    Whatever the run logged as its configuration is there beside the swept keys: groups as Python's
    dictionaries, settings of the top level, and W&B's own. A group becomes the preset that its name is of,
    unless one was given.

    Args:
        words: of the command line.
        presets: the names of each group's presets.
        settings: the keys of the top level that are no groups.
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
    """Where the agent's arguments begin: none before them is a dictionary, W&B's own or without a value."""
    return next(place for place, word in enumerate(words) if word.startswith(MARK) or "={" in word)


def _name(value: str) -> object:
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return None
    return found.get("name") if isinstance(found, dict) else None
