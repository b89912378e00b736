"""The lines of a multirun on this machine: at most five for each run."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from figlang.machine.several import shortly
from figlang.text import amounts

log = logging.getLogger("figlang")
# Folders of what the runs of this command made.
made: list[str] = []
# Launchers whose runs say a few lines each on this terminal.
HERE = ("basic", "beside")


@contextmanager
def announced() -> Iterator[None]:
    """Announce a run of a multirun, and let it say only warnings and its result.

    Any other run, and a job of a cluster, which has a log of its own, is left as it is.
    """
    known = HydraConfig.get()
    if known.mode is not RunMode.MULTIRUN or known.runtime.choices.get("hydra/launcher") not in HERE:
        yield
        return
    log.info("#%d: %s", known.job.num + 1, " ".join(map(typed, known.overrides.task)))
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        with shortly():
            yield
    finally:
        log.setLevel(level)


def typed(word: str) -> str:
    """A word as a user types it: without the backslashes that Hydra puts before its signs, and 1e-4 for
    0.0001."""
    plain = re.sub(r"\\(.)", r"\1", word)
    return re.sub(r"(?<==)0\.000\d+$|(?<==)[\d.]+e-\d+$", lambda found: amounts.typed(float(found[0])), plain)
