"""A limit on the time that a foreign template or pattern may take."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from figlang.errors import FiglangError


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Stop a block that takes too long. This works in the main thread only, where signals arrive.

    Args:
        seconds: The limit.
        what: Subject of the error message.

    Raises:
        FiglangError: If the block takes longer.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_: int, __: FrameType | None) -> None:
        raise FiglangError(f"{what} takes more than {seconds:g} seconds; take another model, or correct it")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
