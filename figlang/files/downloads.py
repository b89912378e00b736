"""Download one file from a URL, whole or not at all, with a limit on its size and on the time."""

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from figlang.errors import FiglangError, one_line
from figlang.files.whole import lock, whole_file

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
CHUNK = 1 << 16
TIMEOUT = "FIGLANG_DOWNLOAD_TIMEOUT"
SECONDS = 60.0  # if that variable is not set


def fetch(url: str, target: Path, digest: str, most: int) -> None:
    """Download a file whose sha256 is known.

    The bytes are stored as they come: figlang never unpacks a compressed answer. What an earlier process left
    half-written, because it was killed, is removed. While another process downloads the file, this one waits.

    Args:
        url: Address of the file.
        target: Path to write. It gets its name only when the file is complete.
        digest: Expected sha256, in hexadecimal.
        most: Largest accepted size, in bytes.

    Raises:
        FiglangError: If there is no file to keep. It says why. Nothing is left at `target`.
    """
    seconds = _timeout()
    if any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in OFFLINE):
        raise _failure(url, target, f"{' or '.join(OFFLINE)} is set")
    with lock(target.with_name(f".{target.name}.lock"), target.parent, "paths.cache=DIR", patient=True):
        if holds(target, digest):
            return
        for leftover in target.parent.glob(f".{target.name}.*.partial"):
            leftover.unlink(missing_ok=True)
        with whole_file(target) as beside:
            received = _receive(url, target, beside, most, seconds)
            if received != digest:
                raise FiglangError(
                    f"{url} has changed: sha256 {received[:12]}… instead of {digest[:12]}…; nothing was "
                    "kept. Set paths.data=DIR to a copy that you trust"
                )


def holds(target: Path, digest: str) -> bool:
    """Whether a path is a file with this sha256."""
    if not target.is_file():
        return False
    with target.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _receive(url: str, target: Path, beside: Path, most: int, seconds: float) -> str:
    """Write what the server sends to `beside`, and return its sha256."""
    digest = hashlib.sha256()
    size, began = 0, time.monotonic()
    request = Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "figlang"})
    try:
        # The socket's time limit restarts at each read. A server that sends a byte now and then would never
        # reach it.
        with urlopen(request, timeout=seconds) as answer, beside.open("wb") as file:
            for part in _parts(answer):
                size += len(part)
                if size > most:
                    raise FiglangError(
                        f"{url} sends more than the {most:,} bytes that the file should have; nothing "
                        "was kept. Set paths.data=DIR to a copy that you trust"
                    )
                if time.monotonic() - began > seconds:
                    raise TimeoutError(
                        f"{size:,} bytes in {seconds:g} seconds; {TIMEOUT}=SECONDS waits longer"
                    )
                digest.update(part)
                file.write(part)
    except HTTPError as error:
        error.close()
        raise _failure(url, target, f"HTTP {error.code}") from error
    except TimeoutError as error:
        reason = (
            str(error)
            if "bytes" in str(error)
            else f"the server sent nothing for {seconds:g} seconds; {TIMEOUT}=SECONDS waits longer"
        )
        raise _failure(url, target, reason) from error
    except (OSError, ValueError) as error:
        if isinstance(getattr(error, "reason", None), TimeoutError):
            raise _failure(
                url, target, f"no answer within {seconds:g} seconds; {TIMEOUT}=SECONDS waits longer"
            ) from error
        raise _failure(url, target, one_line(error)) from error
    return digest.hexdigest()


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
