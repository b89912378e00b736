"""Commands with a model behind a stub endpoint."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.needing import needs
from tests.stub_server import Stub

needs("openai", "needs the extra `served`")

QUIET = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]


def run(command: Any, monkeypatch: pytest.MonkeyPatch, stub: Stub, *arguments: str) -> None:
    fixed = ["model.retries=0", "paths.cache=cache", *QUIET, "output=out"]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *stub.words, *fixed, *arguments])
    command()


def metrics(here: Path, folder: str = "out") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((here / folder / "metrics.json").read_text())
    return content


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]
