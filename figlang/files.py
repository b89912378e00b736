"""Files and folders that get their name only when they are complete, whatever happens while they are written."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from figlang.redaction import redacted


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, renamed to it at the end and removed if that is not reached.

    Raises OSError that names `path` where a write fails half-way, which alone names nothing.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file of settings or results, without secrets that may have got into it."""
    with whole_file(path) as beside:
        beside.write_text(redacted(text), encoding="utf-8")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path` to fill, which takes its place at the end and is removed if that is not reached.

    Raises OSError where a library that writes into it words that in another way.
    """
    beside, before = (path.with_name(f".{path.name}.{state}") for state in ("partial", "before"))
    _settle(path, beside, before)
    beside.mkdir(parents=True)
    try:
        yield beside
        # safetensors makes files that only their owner may read, whatever is the rule here.
        for weights in beside.rglob("*.safetensors"):
            weights.chmod(beside.stat().st_mode & 0o666)
        # Renamed and not deleted: a deletion that is cut short leaves half a folder under its name.
        if path.exists():
            path.rename(before)
        beside.rename(path)
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error
    finally:
        _settle(path, beside, before)


def _settle(path: Path, beside: Path, before: Path) -> None:
    # Cut short between the two renamings, only the earlier folder is whole, under its other name.
    if before.exists() and not path.exists():
        before.rename(path)
    for leftover in (beside, before):
        shutil.rmtree(leftover, ignore_errors=True)
