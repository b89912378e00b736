"""Go on with smaller batches if memory is not enough for larger ones."""

import logging
from collections.abc import Callable
from typing import TypeVar

from figlang.machine.faults import lacks_memory

log = logging.getLogger("figlang")
Result = TypeVar("Result")


class Shrinking:
    """The size of batches, which is halved whenever memory is not enough for one. It stays halved.

    Args:
        size: The size to begin with.
        least: The size at which a lack of memory is an error.
        what: What the size counts, for the log.

    Attributes:
        size: The size now.
    """

    def __init__(self, size: int, least: int, what: str) -> None:
        self.size = size
        self._least = least
        self._what = what

    def __call__(self, run: Callable[[int], Result]) -> Result:
        """What `run` makes of the size.

        Args:
            run: Computes one batch, or some. It is called again after a lack of memory, so it must not have
                changed anything before.

        Raises:
            RuntimeError, MemoryError: If the least size is too large as well.
        """
        while True:
            try:
                return run(self.size)
            except (RuntimeError, MemoryError) as error:  # torch's lack of memory is a RuntimeError
                if self.size <= self._least or not lacks_memory(error):
                    raise
            # Here the error is gone, and with it the tensors that its frames hold.
            self.size = max(self.size // 2, self._least)
            log.warning("memory is not enough; from now on at most %d %s together", self.size, self._what)
