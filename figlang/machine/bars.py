"""Progress bars for work that takes more than a few seconds, if there is a terminal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, ProgressColumn, TimeElapsedColumn

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
    with progress(True) as bar:
        yield from bar.track(steps, total=total, description=what)


def drawn_on(console: Console) -> bool:
    """Whether a console is a terminal, where a bar is drawn again and again in one place.

    FORCE_COLOR asks for colours in a file or pipe. A bar there would be many lines and codes of a cursor.
    """
    return console.is_terminal and not console.is_dumb_terminal and console.file.isatty()


def progress(wanted: bool, *more: ProgressColumn) -> Progress:
    """A bar on standard error, which disappears at its end.

    Args:
        wanted: Show it, if standard error is a terminal. A file or pipe gets no lines of it.
        more: Columns before the time.

    Returns:
        A context manager.
    """
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), *more, TimeElapsedColumn())
    shown = wanted and _shown.get() and drawn_on(console)
    return Progress(*columns, console=console, transient=True, disable=not shown)
