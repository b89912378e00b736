"""Keys and passwords stay out of everything that is written or said."""

import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import TracebackType
from typing import Any

# Names under which the environment carries secrets: WANDB_API_KEY, HF_TOKEN, AWS_SECRET_ACCESS_KEY …
_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_IN_ADDRESS = re.compile(r"(\w+://)[^/\s:@]*:[^/\s@]+@")
SHORTEST = 8  # shorter values would be found in innocent words


def redacted(text: str) -> str:
    """The text with values of secret environment variables and passwords in addresses replaced by what they are."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and _NAMES.search(name.upper()):
            text = text.replace(value, f"<{name}>")
    return _IN_ADDRESS.sub(r"\1<password>@", text)


def redacted_values(content: Any) -> Any:
    """The same for every text in dictionaries and lists."""
    if isinstance(content, Mapping):
        return {key: redacted_values(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [redacted_values(value) for value in content]
    return redacted(content) if isinstance(content, str) else content


class _Redacting:
    """A stream that writes texts without secrets and is in everything else the one below it."""

    def __init__(self, below: Any) -> None:
        self._below = below

    def write(self, text: str) -> int:
        self._below.write(redacted(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # W&B's client puts a function of its own there to hear what is written.
        super().__setattr__(name, (lambda text: value(redacted(text))) if name == "write" else value)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))


@contextmanager
def nothing_secret_said() -> Iterator[None]:
    """Take secrets out of all that is printed: messages, tables, warnings of libraries, the traceback of what leaves this."""
    sys.excepthook = _tell
    with redirect_stdout(_Redacting(sys.stdout)), redirect_stderr(_Redacting(sys.stderr)):  # type: ignore[type-var]
        yield


@contextmanager
def arguments_without_secrets() -> Iterator[None]:
    """For libraries that keep the command line."""
    given = sys.argv
    sys.argv = [redacted(word) for word in given]
    try:
        yield
    finally:
        sys.argv = given
