"""Fixtures of MUNCH's commands."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.causal_models import network, tokenizer
from tests.tasks.munch.commands import SAMPLE, TINY, Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny"
    network("llama", max_position_embeddings=2048).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


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
