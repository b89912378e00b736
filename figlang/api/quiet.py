"""Leave the caller's program as it was: random states, loggers, filters of warnings."""

import logging
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np

from figlang.machine import bars
from figlang.machine.loggers import LIBRARIES

# Loggers whose levels an evaluation sets.
LOGGERS = ("figlang", *LIBRARIES)


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

    A caller who has set up `logging` still gets figlang's records.

    Args:
        progress: Whether progress bars may be shown.

    Yields:
        The warnings of figlang, in the order in which they come.
    """
    kept, log = _Kept(), logging.getLogger("figlang")
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    plain, numbers = random.getstate(), np.random.get_state()
    torch = sys.modules.get("torch")  # if it is not imported, nothing was drawn from it
    drawn = None if torch is None else torch.get_rng_state()
    log.addHandler(kept)
    try:
        with warnings.catch_warnings(), nullcontext() if progress else bars.hidden():
            yield kept.texts
    finally:
        log.removeHandler(kept)
        random.setstate(plain)
        np.random.set_state(numbers)
        if torch is not None:
            torch.set_rng_state(drawn)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
