"""Whether this is one of several runs of a command, each of which is told in a few lines."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_brief: ContextVar[bool] = ContextVar("brief", default=False)


def one_of_several() -> bool:
    """Whether results are to be shown in a line or two."""
    return _brief.get()


@contextmanager
def shortly() -> Iterator[None]:
    """While the block runs, show results in one or two lines."""
    before = _brief.set(True)
    try:
        yield
    finally:
        _brief.reset(before)
