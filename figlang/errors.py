"""Errors that are meant for the person at the keyboard."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Exit codes as a shell counts them: 128 and the number of the signal.
TERMINATED, INTERRUPTED = 143, 130


class FiglangError(Exception):
    """An error for people: what is wrong, where, and what to do, in one line.

    The entry points print it without a traceback and exit with code 2.
    """


class NonFiniteError(FiglangError):
    """A score or probability that is not a finite number. `place` is the number of the prompt, for code that
    does not know the item.

    `soundness.explained` adds the cause.
    """

    def __init__(self, message: str, place: int = 0) -> None:
        super().__init__(message)
        self.place = place


@contextmanager
def owned(items: Sequence[str]) -> Iterator[None]:
    """Inside the block, a NonFiniteError about a prompt begins with the id of its item. `items` has an id for
    every prompt."""
    try:
        yield
    except NonFiniteError as error:
        raise NonFiniteError(f"item {items[error.place]}: {error}", error.place) from error


def one_line(error: BaseException) -> str:
    """A library's message on one line of at most 300 characters, without the number of an error of the
    system; the name of its type if it has none."""
    said = re.sub(r"^\[Errno -?\d+\] ", "", " ".join(str(error).split()))
    return said[:300] or type(error).__name__


def damage(error: BaseException) -> str:
    """Why a file of tensors cannot be read, on one line. torch's own message would advise to run code from
    the file."""
    return "it is damaged or holds more than tensors" if "weights_only" in str(error) else one_line(error)
