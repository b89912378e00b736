"""Fixtures of MUNCH's commands."""

from pathlib import Path

import pytest

from tests.reproducing import Run, runner
from tests.tasks.munch.commands import SAMPLE, TINY


@pytest.fixture
def run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(monkeypatch, tmp_path / "out", *TINY, f"model.name_or_path={folder}", *SAMPLE)
