"""A file that is not there is said before anything heavy is imported."""

from pathlib import Path

import pytest

from tests.running import python

SCRIPT = """
import atexit, sys
atexit.register(lambda: print("torch" in sys.modules))
from figlang.__main__ import main
main()
"""
HEADER = "startphrase,ending1,ending2,labels\nHer voice was velvet,It was soft,It was rough,0\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "model=minilm", "data=item.csv"], "no such file: item.csv; did you mean items.csv?"),
        (
            ["train", "data=items.csv", "data.validation=gone/dev.csv"],
            "no such file: gone/dev.csv; there is no",
        ),
        (["transfer", "data=own", "data.file=folder"], "folder is a folder; name a file in it"),
    ],
)
def test_a_missing_file_is_said_before_torch_is_loaded(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "items.csv").write_text(HEADER)
    (tmp_path / "folder").mkdir()
    ended = python(tmp_path, "-c", SCRIPT, *words)
    assert ended.returncode == 2
    assert ended.stdout == "False\n"
    assert ended.stderr.startswith(f"error: {said}")
    assert ended.stderr.count("\n") == 1
