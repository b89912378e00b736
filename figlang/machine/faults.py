"""Explain in a sentence what the machine refuses: no space, no permission, no memory."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
# Paths that cannot be files: devices, links that lead to themselves, names that are too long. A missing file
# is not in the list: commands check for it first.
ODD = {
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EIO,
    errno.ENXIO,
    errno.ENODEV,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EINVAL,
}
# Words of torch (on CPU and GPU) and of safetensors.
NO_MEMORY = ("out of memory", "allocate memory", "not enough memory")
NO_ROOM = ("no space left", "file too large", "quota exceeded")


def explain(
    error: BaseException, training: bool, folder: str | None = None, ways: Sequence[str] = ()
) -> str | None:
    """Say what happened and what to do.

    Args:
        error: The error.
        training: Whether it happened in a training.
        folder: The folder that was written to, for errors that do not name it, for example a write that fails
            half-way.
        ways: What a training can take to need less memory.

    Returns:
        One line. None if the error is not a fault of the machine.
    """
    words = str(error).lower()
    if lacks_memory(error):
        if training:
            return f"out of memory outside of the training steps; take {' or '.join(ways)}"
        return (
            "out of memory; lower batch_size (of encoders), or take model.dtype=bfloat16 or "
            "model.device_map=auto"
        )
    if str(error).startswith("Symlink loop from"):  # the message of a RuntimeError of Python up to 3.12
        return (
            f"cannot open {str(error).removeprefix('Symlink loop from ')}, a link that leads to itself; "
            "give another path"
        )
    if not isinstance(error, OSError):
        return None
    where = error.filename or folder or "a file"
    if error.errno in FULL or any(text in words for text in NO_ROOM):
        then = "what was complete before is kept, and the same command resumes" if training else "try again"
        return f"no space to write {where} ({error.strerror or error}); {then} when there is space"
    if error.errno in FORBIDDEN:
        if Path(where).exists() and not os.access(where, os.R_OK):
            return f"no permission to read {where} ({error.strerror}); ask its owner for it, or for a copy"
        return (
            f"no permission to write {where} ({error.strerror}); choose another folder with run=, "
            "output= or paths.runs="
        )
    if error.errno in ODD and error.filename:
        return f"cannot open {_brief(str(error.filename))} ({error.strerror}); give another path"
    return None


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory, on the processor or a GPU."""
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in NO_MEMORY)


def _brief(path: str) -> str:
    return path if len(path) <= 200 else f"{path[:60]}… ({len(path)} characters)"
