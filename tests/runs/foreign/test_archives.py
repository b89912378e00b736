"""Archives that are compressed by Zstandard, as inspect_ai writes them, are read on every Python."""

import json
import zipfile
import zlib
from pathlib import Path

import pytest
from pyarrow import compress

from figlang.errors import FiglangError
from figlang.runs import foreign
from figlang.runs.foreign.archives import ZSTANDARD, member

TEXTS = {"header.json": b'{"eval": {"model": "some/model"}}', "empty": b"", "long": b"word " * 50_000}


def written(path: Path, texts: dict[str, bytes], damage: bool = False) -> Path:
    """An archive whose members are compressed by Zstandard; damaged ones lack their last bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            packed = compress(text, codec="zstd", asbytes=True)
            archive.writestr(name, packed[: len(packed) // 2] if damage else packed)
            # The list of members is written at the end.
            info = archive.getinfo(name)
            info.compress_type, info.CRC, info.file_size = ZSTANDARD, zlib.crc32(text), len(text)
    return path


def test_members_have_their_bytes(tmp_path: Path) -> None:
    with zipfile.ZipFile(written(tmp_path / "log.eval", TEXTS)) as archive:
        assert {name: member(archive, name) for name in archive.namelist()} == TEXTS


def test_other_methods_are_read_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("long", TEXTS["long"])
    with zipfile.ZipFile(tmp_path / "log.eval") as archive:
        assert member(archive, "long") == TEXTS["long"]


def test_a_damaged_member_is_one_line(tmp_path: Path) -> None:
    path = written(tmp_path / "log.eval", TEXTS, damage=True)
    with zipfile.ZipFile(path) as archive, pytest.raises(zipfile.BadZipFile, match="long is damaged"):
        member(archive, "long")
    with pytest.raises(FiglangError, match="is not a log of inspect_ai") as refused:
        foreign.read(path, None)
    assert "\n" not in str(refused.value)


def test_a_log_of_inspect_is_read(tmp_path: Path) -> None:
    sample = {
        "id": "a",
        "choices": ["one", "two"],
        "target": "B",
        "scores": {"choice": {"value": "I", "answer": "A"}},
    }
    texts = {**TEXTS, "samples/a_epoch_1.json": json.dumps(sample).encode()}
    read = foreign.read(written(tmp_path / "log.eval", texts), None)
    assert read.model == "some/model"
    assert [(row.id, row.gold, row.choice) for row in read.predictions] == [("a", 1, 0)]
