"""Fixtures of MUNCH's commands."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.munch.commands import SAMPLE, TINY, Run


@pytest.fixture
def run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(command: Callable[[], None], *overrides: str) -> dict[str, Any]:
        output = tmp_path / "out"
        monkeypatch.setattr(
            sys,
            "argv",
            ["munch", *TINY, f"model.name_or_path={folder}", f"output={output}", *SAMPLE, *overrides],
        )
        command()
        content: dict[str, Any] = json.loads((output / "metrics.json").read_text())
        return content

    return call
