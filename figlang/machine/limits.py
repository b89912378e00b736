"""A limit on the time that what others wrote may take: a template, a pattern."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from figlang.errors import FiglangError


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Raises FiglangError, which begins with `what`, if the block takes longer; in the main thread, where
    signals come."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_: int, __: FrameType | None) -> None:
        raise FiglangError(f"{what} takes more than {seconds:g} seconds; take another model, or mend it")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
