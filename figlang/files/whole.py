"""Files that get their name only when they are complete; locks; names for files."""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from figlang.errors import FiglangError
from figlang.files.redaction import redacted, redactor

log = logging.getLogger("figlang")

# A path whose bytes are not UTF-8 holds lone surrogates. JSON and YAML read their escapes back.
LOST = "backslashreplace"
LONGEST = 120  # characters of a file's name without its suffix; a file system takes 255 bytes
# Names of unfinished files. They are random, because two containers may both call their process 1.
_UNFINISHED = re.compile(r"\..*\.[0-9a-f]{12}\.(partial|before)")


def beside_name(path: Path, state: str = "partial") -> Path:
    """A new random name beside `path`, for the file or folder that is to take its place."""
    return path.with_name(f".{path.name[:LONGEST]}.{uuid4().hex[:12]}.{state}")


def is_unfinished(path: Path) -> bool:
    """Whether a path has a name of `beside_name`: its writer is at work or was killed."""
    return _UNFINISHED.fullmatch(path.name) is not None


def slug(name: str) -> str:
    """Turn any text into the name of a file: no separators, not hidden, at most LONGEST characters.

    A text that has to be changed gets the beginning of its hash at its end. So different texts get different
    names.
    """
    plain = re.sub(r"[^A-Za-z0-9._~+=-]+", "_", name).lstrip(".")[:LONGEST]
    if plain == name and plain:
        return plain
    return f"{plain[: LONGEST - 9]}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to, which is renamed to `path` at the end, or removed after an error.

    If `path` is a link, the link is replaced. The file that it points to stays as it is.

    Raises:
        OSError: If a write fails. It names `path`, because the error of a failed write names no file.
        FiglangError: If the unfinished file or its folder was removed by someone else.
    """
    beside = beside_name(path)
    try:
        yield beside
        beside.replace(path)
    except FileNotFoundError as error:
        if str(error.filename) != str(beside):
            raise
        raise removed(path) from error
    except OSError as error:
        # An error without a number has words alone, whose place a file would take.
        if error.errno is not None and (error.filename is None or str(error.filename) == str(beside)):
            error.filename = str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def removed(path: Path) -> FiglangError:
    """The error if what is being written, or its folder, was removed by someone else."""
    return FiglangError(
        f"cannot write {path}: something removed it or its folder meanwhile; run the command again"
    )


def write_text(path: Path, text: str) -> None:
    """Write a text file of settings or results, without secrets."""
    with whole_file(path) as beside:
        beside.write_text(redacted(text), encoding="utf-8", errors=LOST)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write many lines without secrets, one at a time. Each must have its line break."""
    clean = redactor()
    with whole_file(path) as beside, beside.open("w", encoding="utf-8", errors=LOST) as file:
        file.writelines(map(clean, lines))


@contextmanager
def lock(file: Path, folder: Path, option: str = "output=DIR", patient: bool = False) -> Iterator[None]:
    """Hold the right to write to a folder.

    The lock also holds between containers that share a volume.

    Args:
        file: The lock file.
        folder: The folder that it protects, for error messages.
        option: Setting that chooses another folder, for error messages.
        patient: Wait while another process has the lock.

    Raises:
        FiglangError: If another process has the lock, if the lock file cannot be made, or if something
            removes its folder meanwhile.
    """
    held = acquired(file, folder, option, patient)
    try:
        yield
    except FileNotFoundError as error:
        if file.parent.exists():
            raise
        raise removed(folder) from error
    finally:
        # Removed while the lock is held: a process that waits for a removed file takes the next one.
        try:
            file.unlink(missing_ok=True)
        finally:
            held.release()


def acquired(file: Path, folder: Path, option: str = "output=DIR", patient: bool = False) -> FileLock:
    """Get the right to write to a folder; the arguments and errors are those of `lock`.

    Returns:
        The lock, which is to be released.
    """
    held = FileLock(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            held.acquire(timeout=0)
        except Timeout:
            if not patient:
                raise
            log.info("waiting for another process that works in %s", folder)
            held.acquire()
    except Timeout:
        raise FiglangError(
            f"another process is working in {folder}; wait for it, or choose {option}"
        ) from None
    except OSError as error:
        raise FiglangError(
            f"cannot write to {folder} ({error.strerror}); choose another folder with {option}"
        ) from error
    return held
