"""The lines of a multirun on this machine: at most five for each run."""

import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from figlang.config.words import SEVERAL
from figlang.errors import FiglangError
from figlang.machine.several import one_of_several, shortly
from figlang.text import amounts

log = logging.getLogger("figlang")
# Folders of what the runs of this command made.
made: list[str] = []
# Launchers whose runs say a few lines each on this terminal.
HERE = ("basic", "beside")
FAULT = 2  # the exit code of errors
# Settings from which an evaluation opens its network.
OPENING = re.compile(r"[+~]*(checkpoint|model|revision|trainer|seed)\b")


# Words that can ask for several runs: of experiments, of Hydra's own options and of a user's own presets.
ASKING = re.compile(r"-|[+~]*(hydra|experiment)\b")


def in_order(words: Sequence[str], verb: str) -> list[str]:
    """The words of a command line in the order in which Hydra is to read them.

    Args:
        words: The words behind the verb.
        verb: The verb.

    Returns:
        `-m`, which Hydra's parser takes only before or after all options, and the options. Those of several
        evaluations begin with the settings of their networks. The values of the last option change first, so
        each network is opened once.
    """
    evaluated = verb == "evaluate" and any(word in SEVERAL for word in words)
    return sorted(words, key=lambda word: (word not in SEVERAL, evaluated and not OPENING.match(word)))


@contextmanager
def composed_once(words: Sequence[str]) -> Iterator[None]:
    """Spare Hydra the composition by which it finds whether the options ask for several runs, if they cannot.

    Args:
        words: The words of the command line.
    """
    if any(ASKING.match(word) for word in words if word not in SEVERAL):
        yield
        return
    find: Any = Hydra.get_mode

    def nothing_asked(*_: Any, **named: Any) -> None:
        Hydra.get_mode = find  # for a command within this one

    Hydra.get_mode = nothing_asked
    try:
        yield
    finally:
        Hydra.get_mode = find


@contextmanager
def announced() -> Iterator[None]:
    """Announce a run of a multirun, and let it say only warnings and its result.

    Any other run, and a job of a cluster, which has a log of its own, is left as it is.
    """
    known = HydraConfig.get()
    if known.mode is not RunMode.MULTIRUN or known.runtime.choices.get("hydra/launcher") not in HERE:
        yield
        return
    number = known.job.num + 1
    log.info("#%d: %s", number, " ".join(map(typed, known.overrides.task)))
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        with shortly():
            yield
    except SystemExit as ended:
        # `beside` works on the others.
        if ended.code == FAULT and known.runtime.choices["hydra/launcher"] == "basic":
            log.warning(
                "#%d failed and ended the sweep; mend its cause, and the same command goes on from there",
                number,
            )
        raise
    finally:
        log.setLevel(level)


def typed(word: str) -> str:
    """A word as a user types it: without the backslashes that Hydra puts before its signs, and 1e-4 for
    0.0001."""
    plain = re.sub(r"\\(.)", r"\1", word)
    return re.sub(r"(?<==)0\.000\d+$|(?<==)[\d.]+e-\d+$", lambda found: amounts.typed(float(found[0])), plain)


def search_begins() -> bool:
    """Whether this run is the first of a command that tries several values of a setting."""
    return begins() and searched(sys.argv[1:])


def shared() -> bool:
    """Whether the options of this run are also those of other runs, which other values are given."""
    several = HydraConfig.initialized() and HydraConfig.get().mode is RunMode.MULTIRUN
    return one_of_several() or several or "WANDB_SWEEP_ID" in os.environ


def begins() -> bool:
    """Whether this run is the first of its command."""
    return HydraConfig.initialized() and bool(HydraConfig.get().job.get("num", 0) == 0)


def searched(words: Sequence[str]) -> bool:
    """Whether words of a command line try several values of a setting; seeds are none."""
    return any(key != "seed" for key in _several(words))


def check_folder(words: Sequence[str]) -> None:
    """Check that the runs of a command line do not all have one folder, before the first of them is made.

    Raises:
        FiglangError: If they have: the second run could not be made.
    """
    keys = _several(words)
    for word in words if keys else ():
        name, _, folder = word.partition("=")
        if name == "run" and "run" not in keys and "${" not in folder:
            values = {key: key if "." in key or key == "seed" else f"{key}.name" for key in keys}
            parts = "-".join(f"{key.rpartition('.')[2]}${{{value}}}" for key, value in values.items())
            raise FiglangError(
                f"{word} is one folder for several runs; leave it out, or give 'run={folder}/{parts}'"
            )


def _several(words: Sequence[str]) -> list[str]:
    """The settings of which the words of a command line give several values."""
    if not any(word in SEVERAL for word in words):
        return []
    # What stands in brackets or quotes is one value.
    plain = (re.sub(r"\[[^]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"", "", word).partition("=") for word in words)
    return [key for key, _, value in plain if "," in value and not key.startswith("-")]
