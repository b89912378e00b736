"""Commands in this process, on the CPU."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

FIXED = ("trainer=cpu", "trainer.progress=false", "trainer.threads=1")


def call(monkeypatch: pytest.MonkeyPatch, command: Any, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["x.py", *words, *FIXED])
    command()


def mistake(capsys: pytest.CaptureFixture[str], run: Callable[..., Any], *given: Any) -> str:
    """The only line that a run says, which ends with code 2."""
    with pytest.raises(SystemExit) as ended:
        run(*given)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line
