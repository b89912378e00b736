"""A disk that fills up while the state of a training is written."""

import errno
from pathlib import Path
from typing import Any, Self

import pytest
import torch
from matplotlib.figure import Figure

from figlang.tables import drawing
from tests.running import train

pytestmark = pytest.mark.drawn  # one test writes a figure

SETTINGS = ["method.epochs=2", "data.limit=48", "method.lr=0.001", "method.batch_size=8"]  # 6 steps an epoch


class Full:
    """A file on a disk that is full after some bytes."""

    def __init__(self, file: Any) -> None:
        self._file, self._left = file, 1000

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: Any) -> int:
        self._left -= len(content)
        if self._left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._file.write(content))


def test_a_disk_that_fills_up_while_a_state_is_saved_keeps_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open
    saved = []

    def limited(path: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
        file = opened(path, mode, *given, **named)
        if mode == "wb" and ".ckpt" in path.name:
            saved.append(path)
            if len(saved) == 2:  # of the second epoch
                return Full(file)
        return file

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", limited)
        ended = train(tmp_path, *SETTINGS, "run=run")
    assert ended.returncode == 2
    said = ended.stderr
    assert said.splitlines()[-1].startswith("error: no space to write ")
    assert "/run/checkpoints/last.ckpt (No space left on device); what was complete before is kept" in said
    assert {path.parent for path in saved} == {tmp_path / "run" / "checkpoints"}, (
        "beside its place, so that renaming is enough"
    )
    kept = {path.name for path in (tmp_path / "run" / "checkpoints").iterdir()}
    assert kept == {"last.ckpt", "command.txt"}
    assert torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)["global_step"] == 6


def test_a_disk_that_fills_up_while_a_figure_is_written_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """matplotlib's own writer of PDF files fails with an AttributeError while it cleans up."""

    def full(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space") as refused:
        drawing.save(Figure(), tmp_path / "a", ["pdf"])
    assert refused.value.filename == str(tmp_path / "a.pdf")
    assert not list(tmp_path.iterdir())
