"""Progress bars of what takes more than a few seconds. They go to the terminal, if there is one, and nowhere
else."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

T = TypeVar("T")


def track(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The steps as they come, counted by a bar on standard error.

    Args:
        steps: what is gone through.
        what: what is being done, in a word or two.
        total: how many steps there are, if `steps` does not know its length.
    """
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield from bar.track(steps, total=total, description=what)
