"""Commands that are interrupted where nothing expects it, or that fail before they begin."""

import os
import signal
from pathlib import Path

import pytest

from figlang.config import entry
from figlang.training.callbacks import Preemption
from tests.running import train

SETTINGS = ["method.epochs=1", "data.limit=8", "run=run"]


@pytest.mark.parametrize(("asked", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_after_the_last_step_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: signal.Signals, code: int
) -> None:
    ended = Preemption.on_train_end

    def end(callback: Preemption, *inputs: object) -> None:
        ended(callback, *inputs)  # type: ignore[arg-type]
        os.kill(os.getpid(), asked)

    with monkeypatch.context() as patch:
        patch.setattr(Preemption, "on_train_end", end)
        stopped = train(tmp_path, *SETTINGS)
    assert stopped.returncode == code
    assert "stopped; the same command continues run after its last whole epoch" in stopped.stderr
    assert not (tmp_path / "run" / "metrics.json").exists()
    assert train(tmp_path, *SETTINGS).returncode == 0


def test_the_folder_of_several_runs_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    ended = train(tmp_path, "-m", "seed=0,1")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith(f"error: cannot open {tmp_path / 'runs'}")


def test_an_error_of_a_library_that_was_interrupted_is_the_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise AttributeError("'NoneType' object has no attribute '_invalidate_flags_cache'")

    monkeypatch.setattr(entry, "readable", break_off)
    ended = train(tmp_path)
    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")
