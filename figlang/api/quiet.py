"""Leave the caller's program as it was: random states, threads, loggers, warnings, progress bars."""

import logging
import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock

import numpy as np

from figlang.machine import bars
from figlang.machine.importing import unadvised
from figlang.machine.loggers import LIBRARIES

# Loggers whose levels an evaluation or a figure sets.
LOGGERS = ("figlang", "fontTools", *LIBRARIES)
# Variables that an evaluation sets. Lightning's own trainings read them.
VARIABLES = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "DS_ACCELERATOR")
# What an evaluation changes for its time belongs to the whole process, so threads take turns.
_turns = RLock()


class _Kept(logging.Handler):
    """Keeps the warnings of figlang, which the result of the call carries as its notes."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (text := record.getMessage()) not in self.texts:
            self.texts.append(text)


@contextmanager
def quietly(progress: bool = False) -> Iterator[list[str]]:
    """Run without a line in the terminal, and give back what belongs to the caller.

    A caller who has set up `logging` still gets figlang's records. If another thread is in such a block, this
    one waits for it.

    Args:
        progress: Whether progress bars may be shown.

    Yields:
        The warnings of figlang, in the order in which they come.
    """
    kept, log = _Kept(), logging.getLogger("figlang")
    with _turns, ExitStack() as stack:
        _give_back(stack)
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(unadvised())
        if not progress:
            stack.enter_context(bars.hidden())
        log.addHandler(kept)
        stack.callback(log.removeHandler, kept)
        yield kept.texts


def _give_back(stack: ExitStack) -> None:
    """Note what an evaluation changes, to be set again when the stack is left."""
    stack.callback(random.setstate, random.getstate())
    stack.callback(np.random.set_state, np.random.get_state())
    for logger in map(logging.getLogger, LOGGERS):
        stack.callback(logger.setLevel, logger.level)
    for name in VARIABLES:
        stack.callback(_set_variable, name, os.environ.get(name))
    # A library that is not imported yet has drawn nothing, and shows bars as it begins.
    if torch := sys.modules.get("torch"):
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        if torch.cuda.is_initialized():
            stack.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())
    if hub := sys.modules.get("huggingface_hub.utils"):
        hidden = hub.are_progress_bars_disabled()
        stack.callback(hub.disable_progress_bars if hidden else hub.enable_progress_bars)
    library = sys.modules.get("transformers.utils.logging")
    if library and library.is_progress_bar_enabled():
        stack.callback(library.enable_progress_bar)  # before the hub's, whose bars it shows too


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
