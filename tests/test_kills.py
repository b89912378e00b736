"""Files and folders when a process is killed, or several write at once."""

from pathlib import Path

import pytest

from figlang.files import whole_file


@pytest.mark.faults
def test_a_file_that_is_cut_short_never_gets_its_name(tmp_path: Path) -> None:
    for cut in range(100):
        with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "file") as beside:
            _cut_short(beside, cut)
    assert not list(tmp_path.iterdir())


def _cut_short(path: Path, length: int) -> None:
    path.write_text("x" * length)
    raise KeyboardInterrupt
