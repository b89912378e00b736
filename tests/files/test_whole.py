"""A file gets its name when it is complete, and its folder may go while it is written."""

import json
import os
import shutil
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.files.whole import whole_file, write_lines, write_text


def gone(path: Path, opened: bool) -> None:
    """Write a file whose folder is removed, either before it is opened or before it gets its name."""
    with whole_file(path) as beside:
        if opened:
            beside.write_text("{}")
        shutil.rmtree(path.parent)
        if not opened:
            beside.write_text("{}")


@pytest.mark.parametrize("opened", [False, True])
def test_a_folder_that_is_removed_meanwhile_is_named(tmp_path: Path, opened: bool) -> None:
    path = tmp_path / "run" / "metrics.json"
    path.parent.mkdir()
    with pytest.raises(FiglangError, match="json: something removed it or its folder meanwhile"):
        gone(path, opened)


def test_another_file_that_is_missing_is_not_the_one_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="source"), whole_file(tmp_path / "copy") as beside:
        beside.write_text((tmp_path / "source").read_text())
    assert list(tmp_path.iterdir()) == []


def test_an_error_without_a_number_keeps_its_words(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the library is full"), whole_file(tmp_path / "file"):
        raise OSError("the library is full")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_utf_8_can_be_written_and_read_back(tmp_path: Path) -> None:
    path = os.fsdecode(b"runs/\xdcbung")
    write_text(tmp_path / "a.json", json.dumps({"folder": path}, ensure_ascii=False))
    write_lines(tmp_path / "b.jsonl", [json.dumps({"folder": path}, ensure_ascii=False) + "\n"])
    for name in ("a.json", "b.jsonl"):
        assert json.loads((tmp_path / name).read_text(encoding="utf-8")) == {"folder": path}
