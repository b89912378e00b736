"""Errors that are meant for the person at the keyboard."""

# Exit codes as a shell counts them: 128 and the number of the signal.
TERMINATED, INTERRUPTED = 143, 130


class FiglangError(Exception):
    """What is wrong, where, and what to do, in one line.

    The entry points print it without a traceback and exit with code 2.
    """


def one_line(error: BaseException) -> str:
    """A library's message on one line of at most 300 characters; the name of its type if it has none."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def damage(error: BaseException) -> str:
    """Why a file of tensors cannot be read, on one line; torch's own words advise to run whatever is in it."""
    return "it is damaged or holds more than tensors" if "weights_only" in str(error) else one_line(error)
