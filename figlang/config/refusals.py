"""How a command ends with an error: one line for people on stderr, and exit code 2."""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import Field, fields, is_dataclass
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin

from hydra.errors import HydraException

from figlang.config import typed
from figlang.config.presets import CONF
from figlang.config.roots import Root
from figlang.config.section import Command, Section
from figlang.config.suggesting import meant
from figlang.config.words import unreadable
from figlang.errors import FiglangError
from figlang.machine.faults import explain
from figlang.machine.printing import printable

# Lines of Hydra's and OmegaConf's messages that say nothing to a user.
_SKIPPED = ("full_key:", "object_type=", "reference_type=", "See https", "set env", "Set the environment")

# Other values that a group takes, beside its presets.
OTHER_VALUES = {
    "model": "; or give a hub id ORG/NAME, a folder with a slash (./NAME) or a FILE.gguf",
    "data": (
        "; or give a file (.csv, .tsv, .jsonl, .json, .parquet or .yaml), or a folder that `datasets` saved, "
        "with a slash (./NAME)"
    ),
}

# What the types of options are called.
KINDS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


def refuse(error: Exception, root: Root | None = None) -> NoReturn:
    """End the command with the error in one line.

    Args:
        error: An error of figlang, Hydra or OmegaConf.
        root: The options of the verb, among which a meant key is looked for.

    Raises:
        SystemExit: With exit code 2.
    """
    sys.stderr.write(f"error: {printable(said(error, sys.argv[1:], root))}\n")
    raise SystemExit(2)


def said(error: Exception, words: list[str], root: Root | None) -> str:
    """An error of figlang, Hydra or OmegaConf in one line for people.

    Args:
        error: The error.
        words: The words that were being read.
        root: The options of the verb; None if the error is not about them.
    """
    return _for_people(_said(error), words, root)


def refuse_fault(
    error: Exception, training: bool, folder: str | None = None, ways: Sequence[str] = ()
) -> NoReturn:
    """End the command with a fault of the machine in one line; any other error is raised again.

    Args:
        error: What was raised.
        training: Whether the command trains, which can be continued.
        folder: The run folder of a training, if it is known.
        ways: What a training can take to need less memory.

    Raises:
        SystemExit: With exit code 2.
    """
    if (fault := explain(error, training, folder, ways)) is None:
        raise error
    refuse(FiglangError(fault))


def of_submitit(message: str) -> FiglangError:
    """The error of a job that failed or could not start; submitit puts the job's own error into the middle
    of its message."""
    lines = message.splitlines()
    said = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), None)
    job = re.match(r"Job (\S+)", message)
    text = f"job {job[1]}: {said}" if said and job else f"submitit: {' '.join(message.split())[:300]}"
    return FiglangError(text)


def _said(error: Exception) -> str:
    """The message of an error in one line. Hydra's reasons are in the errors that caused it."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        lines += [line.strip() for line in str(cause).splitlines()]
        cause = cause.__cause__ if isinstance(error, HydraException) else None
    return " ".join(line for line in dict.fromkeys(lines) if line and not line.startswith(_SKIPPED))


def _for_people(message: str, words: list[str], root: Root | None) -> str:
    """Replace known messages of Hydra by plain words."""
    if any(token in message for token in typed.UNREADABLE) and (word := unreadable(words)):
        message = typed.advice(word)
    if "interpolation" in message.lower() and (word := next((word for word in words if "${" in word), None)):
        message = f"{word}: {message}"
    if group := re.search(r"Could not override '([\w/]+)'", message):
        if root is not None and any(word.startswith(f"{group[1]}=") for word in words):
            return _said_of_key(group[1], "", root.schema, root)
        if group[1] == "peft":
            return (
                "this model= trains adapters; name the network below them (for example model=gpt2), or a "
                "trained run by checkpoint=FOLDER"
            )
    if "'hydra/launcher/submitit_" in message:
        return "hydra/launcher=submitit_… needs the launcher for jobs: `pip install 'figlang[slurm]'`"
    return (
        _several_values(message, root)
        or _unknown_preset(message, root)
        or _other_type(message, root)
        or _unknown_key(message, root)
        or message
    )


def _several_values(message: str, root: Root | None) -> str | None:
    """The message about a value with commas. A key that does not exist is the first thing to mend. A comma
    belongs to a name only if the option is a text."""
    several = re.search(r"Ambiguous value for argument '([^'=]+)=(.*?)'(?: 1\. To use it as|$)", message)
    if several is None:
        return None
    key, values = several[1], re.sub(r"'([^']*)'(?=\s*(?:,|$))", r"\1", several[2])  # as it was typed
    kind = None
    if root is not None and key not in root.presets and re.fullmatch(r"[\w.]+", key):
        if (spec := _spec(root.schema, key)) is None and not key.startswith("hydra."):
            group, _, name = key.rpartition(".")
            return _said_of_key(name, group, root.schema, root)
        kind = None if spec is None else _kind(spec.type)
    text = f"{key}={values} has several values; add -m to run the command once for each"
    if kind in (KINDS[int], KINDS[float], KINDS[bool]):
        return text
    return f"{text}; if the comma belongs to a name, write {_quoted(f'{key}={typed.text(values)}')}"


def _spec(section: Any, key: str) -> Field[Any] | None:
    """The field of an option with dots in its name; None if there is none. The keys of a dictionary are not
    looked at."""
    spec = None
    for part in key.split("."):
        if (spec := next((each for each in fields(section) if each.name == part), None)) is None:
            return None
        inner = [kind for kind in (spec.type, *get_args(spec.type)) if is_dataclass(kind)]
        if not inner:
            return spec
        section = inner[0]
    return spec


def _quoted(word: str) -> str:
    """A word as a shell takes it, in double quotes if these change nothing in it."""
    return shlex.quote(word) if re.search(r'["$`\\!]', word) else f'"{word}"'


def _unknown_preset(message: str, root: Root | None) -> str | None:
    preset = re.search(
        r"Could not find '([^']+)' Available options in '([^']+)': (.+?) Config search path", message
    )
    if preset is None:
        return None
    group, options = preset[2], preset[3].split()
    name = preset[1].removeprefix(f"{group}/")
    close = get_close_matches(name.rpartition("/")[2], options, n=1)
    if root is not None and not close:
        close = [f"{other}={name}" for other in root.presets if (CONF / other / f"{name}.yaml").is_file()][:1]
    suggested = f"did you mean {close[0]}? " if close else ""
    others = OTHER_VALUES.get(group, "")
    return f"{group}={name} is not a preset; {suggested}choose one of {', '.join(options)}{others}"


def _other_type(message: str, root: Root | None) -> str | None:
    refused = re.search(
        r"override \+{0,2}((?:\w+\.)?)(\w+)=(.*) (?:Value '|field '|Cannot |Invalid value assigned)",
        message,
    )
    if refused is None:
        return None
    group, name, value = refused.groups()
    section: Any = _schema(f"{group[:-1].capitalize()}Config") if group else root and root.schema
    spec = next((spec for spec in fields(section) if spec.name == name), None) if section else None
    if spec is None or (kind := _kind(spec.type)) is None:
        return None
    return f"{group}{name}={value} is not {kind}: {spec.metadata['help']}"


def _kind(annotation: Any) -> str | None:
    """What the type of an option is called; None for a type without a name here."""
    if isinstance(annotation, UnionType):
        (annotation, *others) = [each for each in get_args(annotation) if each is not NoneType]
        if others:
            return None
    if get_origin(annotation) is dict:
        return "numbers by name in braces, for example {a: 1, b: 0.5}"
    if get_origin(annotation) in (list, tuple):
        return "a list" if get_args(annotation)[0] is str else "a list of numbers"
    return KINDS.get(annotation)


def _unknown_key(message: str, root: Root | None) -> str | None:
    unknown = re.search(r"[Kk]ey '([^']+)' (?:is )?not in '(\w+)'", message)
    section = None if unknown is None else _schema(unknown[2])
    if unknown is None or section is None:
        return None
    group = "" if issubclass(section, Command) else section.named("").removesuffix(".")
    return _said_of_key(unknown[1], group, section, root)


def _said_of_key(key: str, group: str, section: Any, root: Root | None) -> str:
    """The message about an unknown key, with the key that is meant, or else with all keys of its section."""
    if root is not None and (close := meant(key, group, root.schema)):
        place = re.split(r"[.=]", close)[0]
        topic = f" {place}" if place in root.presets else ""
        return f"unknown key {key!r}; did you mean {close}? (--help{topic} lists the keys)"
    names = ", ".join(spec.name for spec in fields(section))
    return f"unknown key {key!r}; {group or 'the top level'} has {names}"


def _schema(name: str) -> Any:
    """The class of a group or of a verb's options; None if there is no such class."""
    classes = [Section]
    for each in classes:
        classes += each.__subclasses__()
    return next((each for each in classes if each.__name__ == name), None)
