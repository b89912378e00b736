"""How a command ends with an error: one line for people on stderr, and exit code 2."""

import re
import sys
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, NoReturn, get_args

from hydra.errors import HydraException

from figlang.config import typed
from figlang.config.section import Command, Section
from figlang.config.words import unreadable
from figlang.errors import FiglangError
from figlang.machine.faults import explain
from figlang.machine.printing import printable

# Lines of Hydra's and OmegaConf's messages that say nothing to a user.
_SKIPPED = ("full_key:", "object_type=", "reference_type=", "See https", "set env", "Set the environment")


def refuse(error: Exception) -> NoReturn:
    """End the command with the error in one line.

    Args:
        error: An error of figlang, Hydra or OmegaConf.

    Raises:
        SystemExit: With exit code 2.
    """
    sys.stderr.write(f"error: {printable(said(error, sys.argv[1:]))}\n")
    raise SystemExit(2)


def said(error: Exception, words: list[str]) -> str:
    """An error of figlang, Hydra or OmegaConf in one line for people.

    Args:
        error: The error.
        words: The words that were being read.
    """
    return _for_people(_said(error), words)


def refuse_fault(error: Exception, training: bool, folder: str | None = None) -> NoReturn:
    """End the command with a fault of the machine in one line; any other error is raised again.

    Args:
        error: What was raised.
        training: Whether the command trains, which can be continued.
        folder: The run folder of a training, if it is known.

    Raises:
        SystemExit: With exit code 2.
    """
    if (fault := explain(error, training, folder)) is None:
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


def _for_people(message: str, words: list[str]) -> str:
    """Replace known messages of Hydra by plain words."""
    if any(token in message for token in typed.UNREADABLE) and (word := unreadable(words)):
        message = typed.advice(word)
    if "interpolation" in message.lower() and (word := next((word for word in words if "${" in word), None)):
        message = f"{word}: {message}"
    if "Could not override 'peft'" in message:
        return (
            "this model= trains adapters; name the network below them (for example model=gpt2), or a trained "
            "run by checkpoint=FOLDER"
        )
    if "'hydra/launcher/submitit_" in message:
        return "hydra/launcher=submitit_… needs the launcher for jobs: `pip install figlang[slurm]`"
    return _unknown_preset(message) or _single_value(message) or _unknown_key(message) or message


def _unknown_preset(message: str) -> str | None:
    preset = re.search(
        r"Could not find '([^']+)' Available options in '([^']+)': (.+?) Config search path", message
    )
    if preset is None:
        return None
    name, options = preset[1].removeprefix(f"{preset[2]}/"), preset[3].split()
    close = get_close_matches(name.rpartition("/")[2], options, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{preset[2]}={name} is not a preset; {meant}choose one of {', '.join(options)}"


def _single_value(message: str) -> str | None:
    single = re.search(r"override (\w+)\.(\w+)=(.*) Invalid value assigned: .* is not a ListConfig", message)
    section = None if single is None else _schema(f"{single[1].capitalize()}Config")
    if single is None or section is None:
        return None
    sentence = next(spec.metadata["help"] for spec in fields(section) if spec.name == single[2])
    return f"{single[1]}.{single[2]}={single[3]} is not a list in brackets: {sentence}"


def _unknown_key(message: str) -> str | None:
    unknown = re.search(r"[Kk]ey '([^']+)' (?:is )?not in '(\w+)'", message)
    section = None if unknown is None else _schema(unknown[2])
    if unknown is None or section is None:
        return None
    names = [spec.name for spec in fields(section)]
    meant = _meant(unknown[1], section, names)
    return f"unknown key {unknown[1]!r}; {meant}{_name(section)} has {', '.join(names)}"


def _meant(typed_key: str, section: Any, names: list[str]) -> str:
    """The nearest key, with its group. A key without its group is looked for in every group too."""
    top = issubclass(section, Command)
    close = get_close_matches(typed_key, names, n=1)
    if close:
        return f"did you mean {'' if top else f'{_name(section)}.'}{close[0]}? "
    inner = {
        name: f"{spec.name}.{name}"
        for spec in reversed(fields(section))
        for each in get_args(spec.type) or [spec.type]
        if top and is_dataclass(each)
        for name in (field.name for field in fields(each))
    }
    # There are so many names that a less similar one would be a guess.
    near = get_close_matches(typed_key, inner, n=1, cutoff=0.8)
    return f"did you mean {inner[near[0]]}? " if near else ""


def _schema(name: str) -> Any:
    """The class of a group or of a verb's options; None if there is no such class."""
    classes = [Section]
    for each in classes:
        classes += each.__subclasses__()
    return next((each for each in classes if each.__name__ == name), None)


def _name(section: type[Section]) -> str:
    return "the top level" if issubclass(section, Command) else section.named("").removesuffix(".")
