"""One file from an address: never more of it than was expected, no longer than the server keeps sending,
whole or not at all."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from figlang.errors import FiglangError, one_line
from figlang.files.whole import lock, whole_file

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
CHUNK = 1 << 16
TIMEOUT = "FIGLANG_DOWNLOAD_TIMEOUT"
SECONDS = 60.0  # without that variable


def fetch(url: str, target: Path, digest: str, most: int) -> None:
    """Download `url` to `target`, a file of `most` bytes at most with this sha256.

    The bytes are taken as they come: what a server has compressed is never unpacked. What an earlier process
    that was killed left behind is removed.

    Raises FiglangError that says why there is no file, and leaves none.
    """
    seconds = _timeout()
    if any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in OFFLINE):
        raise _failure(url, target, f"{' or '.join(OFFLINE)} is set")
    with _locked(target):
        for leftover in target.parent.glob(f".{target.name}.*.partial"):
            leftover.unlink(missing_ok=True)
        with whole_file(target) as beside:
            found = _receive(url, target, beside, most, seconds)
            if found != digest:
                raise FiglangError(
                    f"{url} has changed: sha256 {found[:12]}… instead of {digest[:12]}…; nothing was kept. "
                    "Set paths.data=DIR to a copy that you trust"
                )


def _receive(url: str, target: Path, beside: Path, most: int, seconds: float) -> str:
    """The sha256 of what was written to `beside`."""
    read = hashlib.sha256()
    size, began = 0, time.monotonic()
    request = Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "figlang"})
    try:
        # A socket's time counts for each reading; a server that sends a byte now and then would never reach
        # it.
        with urlopen(request, timeout=seconds) as answer, beside.open("wb") as file:
            for part in _parts(answer):
                size += len(part)
                if size > most:
                    raise FiglangError(
                        f"{url} sends more than the {most:,} bytes that the file has; nothing was kept. "
                        "Set paths.data=DIR to a copy that you trust"
                    )
                if time.monotonic() - began > seconds:
                    raise TimeoutError(
                        f"{size:,} bytes in {seconds:g} seconds; {TIMEOUT}=SECONDS waits longer"
                    )
                read.update(part)
                file.write(part)
    except HTTPError as error:
        error.close()
        raise _failure(url, target, f"HTTP {error.code}") from error
    except TimeoutError as error:
        reason = (
            str(error)
            if "bytes" in str(error)
            else f"nothing came for {seconds:g} seconds; {TIMEOUT}=SECONDS waits longer"
        )
        raise _failure(url, target, reason) from error
    except (OSError, ValueError) as error:
        if isinstance(getattr(error, "reason", None), TimeoutError):
            raise _failure(
                url, target, f"no answer within {seconds:g} seconds; {TIMEOUT}=SECONDS waits longer"
            ) from error
        raise _failure(url, target, one_line(error)) from error
    return read.hexdigest()


def _parts(answer: Any) -> Iterator[bytes]:
    while part := answer.read1(CHUNK):
        yield part


def _failure(url: str, target: Path, reason: str) -> FiglangError:
    return FiglangError(
        f"{target.name} is not in {target.parent} and could not be fetched from {url} ({reason}); "
        "set paths.data=DIR (or FIGLANG_DATA) to a folder that holds the data sets in upstream layout"
    )


def _timeout() -> float:
    given = os.environ.get(TIMEOUT, "")
    try:
        seconds = float(given or SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise FiglangError(
            f"{TIMEOUT}={given} is not a number of seconds above 0; set it again, or leave it out"
        )
    return seconds


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    with lock(target.with_name(f".{target.name}.lock"), target.parent, "paths.cache=DIR"):
        yield
