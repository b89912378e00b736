"""A device that is not on this machine is refused before anything is read or written."""

import sys
from pathlib import Path

import pytest
import torch

from figlang.commands.average import main as average_command
from figlang.commands.find_lr import main as find_lr_command
from figlang.commands.judge import main as judge_command
from figlang.commands.release import main as release_command
from figlang.rating import sheets
from figlang.tasks import registry
from tests.running import MAIN, run

LINE = "error: trainer.accelerator=gpu is not on this machine; use trainer=cpu\n"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU. Loading data there fails the test."""

    def load(*_: object) -> None:
        raise AssertionError("data were read first")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(registry, "load", load)
    monkeypatch.setattr(registry, "for_training", load)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("train.py", ["run=a"]),
        ("train.py", ["run=a", "overwrite=true", "debug=fast"]),
        ("evaluate.py", ["output=a"]),
        ("evaluate.py", ["checkpoint=b", "output=a"]),
        ("find_lr", ["run=a"]),
        ("average", ["b", "c", "output=a"]),
        ("release", ["run=b", "name=x"]),
    ],
)
def test_a_device_that_is_not_here_is_refused_first(
    command: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"find_lr": find_lr_command, "average": average_command, "release": release_command}
    for name, main in others.items():
        monkeypatch.setitem(MAIN, name, main)
    ended = run(tmp_path, command, *words, "trainer=gpu")
    assert ended.returncode == 2
    assert ended.stderr == LINE
    assert not (tmp_path / "a").exists()


def test_a_judge_is_not_loaded_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "read", lambda *_: ("munch", []))
    monkeypatch.setattr(registry, "scales", lambda: {"munch": None})
    monkeypatch.setattr(sheets, "keyed", lambda _: (None, None, {}))
    monkeypatch.setattr("figlang.rating.references.of", lambda *_: {})
    monkeypatch.setitem(MAIN, "judge", judge_command)
    ended = run(tmp_path, "judge", "folder=x", "model=gpt2", "trainer=gpu")
    assert ended.stderr == LINE
    assert "gpt2" not in sys.modules
