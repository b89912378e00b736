"""Answers of an endpoint on disk: one JSON object for each line, found again by the hash of its request."""

import json
import os
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from figlang.errors import FiglangError
from figlang.files.redaction import redacted_values


@dataclass(frozen=True)
class Call:
    """One request.

    Attributes:
        route: Route below the endpoint: completions or chat/completions.
        body: The JSON body.
    """

    route: str
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The sha256 of the request. The order of the body's keys does not matter."""
        return sha256(json.dumps([self.route, self.body], sort_keys=True).encode()).hexdigest()


class Store:
    """The file of answers. A `with` block locks it, so that two processes do not send the same requests.

    An answer is never rewritten. A line that a killed process left half-written is skipped and counted in
    `damaged`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        self._places: dict[str, tuple[int, int]] = {}
        self._lock = FileLock(path.with_name(f"{path.name}.lock"))
        self._file = -1

    def __enter__(self) -> "Store":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise FiglangError(
                f"another process is asking with {self.path}; wait for it, or set paths.cache=DIR"
            ) from None
        except OSError as error:
            raise FiglangError(
                f"cannot write to {self.path.parent} ({error.strerror}); set paths.cache=DIR"
            ) from error
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            self._read()
        except OSError as error:
            self._close()
            raise FiglangError(
                f"{self.path} cannot be read ({error.strerror}); set paths.cache=DIR"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._lock.release()

    def _read(self) -> None:
        self._places, self.damaged = {}, 0
        start, line = 0, b"\n"
        with self.path.open("rb") as file:
            for line in file:
                try:
                    row = json.loads(line)
                    row["answer"].keys()
                    self._places[row["key"]] = (start, len(line))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    self.damaged += 1
                start += len(line)
        if not line.endswith(b"\n"):
            # The next line begins on its own. A whole object without its line break can still be used.
            self._append(b"\n")

    def __contains__(self, call: Call) -> bool:
        return call.key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def keys(self) -> Set[str]:
        """The keys of all requests with an answer."""
        return self._places.keys()

    def __getitem__(self, call: Call) -> dict[str, Any]:
        start, length = self._places[call.key]
        answer: dict[str, Any] = json.loads(os.pread(self._file, length, start))["answer"]
        return answer

    def __setitem__(self, call: Call, answer: Mapping[str, Any]) -> None:
        """Append an answer.

        Raises:
            FiglangError: If there is no space.
        """
        row = {"key": call.key, **redacted_values({"route": call.route, "body": call.body, "answer": answer})}
        line = json.dumps(row, ensure_ascii=False)
        data = f"{line}\n".encode(errors="replace")  # a reply may end in the middle of a surrogate pair
        start = os.lseek(self._file, 0, os.SEEK_END)
        try:
            self._append(data)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, start)  # otherwise the next answer would be appended to half a line
            raise FiglangError(
                f"cannot store an answer in {self.path} ({error.strerror}); make space and run the same "
                "command again: stored answers are not asked for twice"
            ) from error
        self._places[call.key] = (start, len(data))

    def _append(self, data: bytes) -> None:
        while data:  # a nearly full disk may write only a part
            data = data[os.write(self._file, data) :]
