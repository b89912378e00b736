"""Progress bars for work that takes more than a few seconds, if there is a terminal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

T = TypeVar("T")
_shown: ContextVar[bool] = ContextVar("shown", default=True)


@contextmanager
def hidden() -> Iterator[None]:
    """Show no bar within, for callers who are not at a command line."""
    before = _shown.set(False)
    try:
        yield
    finally:
        _shown.reset(before)


def track(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Give the steps one after the other, and count them in a bar on standard error.

    Args:
        steps: The steps.
        what: What is done, in a word or two.
        total: Number of steps, if `steps` does not know its length.
    """
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not (_shown.get() and console.is_terminal)
    ) as bar:
        yield from bar.track(steps, total=total, description=what)
