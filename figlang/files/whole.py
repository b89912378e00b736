"""Files that get their name only when they are complete, whatever happens while they are written; names, and
locks."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from figlang.errors import FiglangError
from figlang.files.redaction import redacted, redactor

LONGEST = 120  # characters of a file's name without its suffix; file systems take 255 bytes
# Names of what is still being written. They are random, since two containers may both be process 1.
_UNFINISHED = re.compile(r"\..*\.[0-9a-f]{12}\.(partial|before)")


def beside_name(path: Path, state: str = "partial") -> Path:
    """A new random name beside `path` for what is to take its place."""
    return path.with_name(f".{path.name[:LONGEST]}.{uuid4().hex[:12]}.{state}")


def is_unfinished(path: Path) -> bool:
    """Whether `path` has a name of `beside_name`: a writer's that is at work, or was killed."""
    return _UNFINISHED.fullmatch(path.name) is not None


def slug(name: str) -> str:
    """Any text as the name of a file: no separators, no hidden file, at most LONGEST characters.

    A text that has to be changed gets the beginning of its hash at its end, so that different texts stay
    different.
    """
    plain = re.sub(r"[^A-Za-z0-9._~+=-]+", "_", name).lstrip(".")[:LONGEST]
    if plain == name and plain:
        return plain
    return f"{plain[: LONGEST - 9]}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, renamed to it at the end and removed if that is not reached.

    A link at `path` is replaced; what it points to is left alone.

    Raises OSError that names `path` where a write fails half-way, which alone names nothing.
    """
    beside = beside_name(path)
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(beside):
            error.filename = str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file of settings or results, without secrets that may have got into it."""
    with whole_file(path) as beside:
        beside.write_text(redacted(text), encoding="utf-8")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """The same for many lines, each with its line break, of which one at a time is held."""
    clean = redactor()
    with whole_file(path) as beside, beside.open("w", encoding="utf-8") as file:
        file.writelines(map(clean, lines))


@contextmanager
def lock(file: Path, folder: Path, option: str = "output=DIR") -> Iterator[None]:
    """The right to write `folder`, by a lock on `file` that also holds between containers which share a
    volume.

    Raises FiglangError while another process has it, or if there can be no such file; `option` chooses
    another folder.
    """
    held = FileLock(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        held.acquire(timeout=0)
    except Timeout:
        raise FiglangError(
            f"another process is working in {folder}; wait for it, or choose {option}"
        ) from None
    except OSError as error:
        raise FiglangError(
            f"cannot write to {folder} ({error.strerror}); choose another folder with {option}"
        ) from error
    try:
        yield
    finally:
        # While it is held: whoever waits for a file that is removed takes the next one.
        file.unlink(missing_ok=True)
        held.release()
