"""Commands in this process, on the CPU."""

import sys
from typing import Any

import pytest

FIXED = ("trainer=cpu", "trainer.progress=false", "trainer.threads=1")


def call(monkeypatch: pytest.MonkeyPatch, command: Any, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["x.py", *words, *FIXED])
    command()
