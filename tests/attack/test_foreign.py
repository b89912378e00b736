"""Results of other tools of every damage: each is read or refused in one line, in little time."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.runs.foreign import read
from tests.attack import damage

LONG = "9" * 5000  # Python does not make a number of so many digits
DEEP = "[" * 100_000
SAMPLE = {"id": "1", "choices": ["a", "b"], "target": "A", "scores": {"choice": {"answer": "B"}}}
LINE = {
    "doc_id": 0,
    "doc": {"id": "a"},
    "target": "0",
    "filtered_resps": [["-1.0", "False"], ["-2.0", "True"]],
    "arguments": {"gen_args_0": {"arg_1": " a"}, "gen_args_1": {"arg_1": " b"}},
}
ROW = {"id": "a", "gold": 0, "choice": 0}
READ, REFUSED = True, False

SAMPLES: dict[str, tuple[dict[str, Any], bool]] = {
    "as it is": ({}, READ),
    "epoch a list": ({"epoch": [1]}, READ),
    "epoch an object": ({"epoch": {}}, READ),
    "id a list": ({"id": [1]}, REFUSED),
    "id true": ({"id": True}, REFUSED),
    "target huge": ({"target": 10**30}, REFUSED),
    "target long": ({"target": LONG}, REFUSED),
    "target nested": ({"target": [["A"]]}, REFUSED),
    "target a superscript": ({"target": "²"}, REFUSED),
    "choices a word": ({"choices": "ab"}, REFUSED),
    "choices nested": ({"choices": [["a"], {"b": 1}]}, READ),
    "answer long": ({"scores": {"c": {"answer": LONG}}}, READ),
    "answer a list": ({"scores": {"c": {"answer": ["A"]}}}, READ),
    "answer nan": ({"scores": {"c": {"answer": float("nan")}}}, READ),
    "scores a list": ({"scores": [1]}, READ),
    "places twice": ({"metadata": {"options": [1, 1]}}, READ),
    "places true": ({"metadata": {"options": [True, 0]}}, READ),
    "places of floats": ({"metadata": {"options": [1.0, 0.0]}}, READ),
    "places of words": ({"metadata": {"options": ["1", "0"]}}, READ),
}
LINES: dict[str, tuple[dict[str, Any], bool]] = {
    "as it is": ({}, READ),
    "argument long": ({"arguments": {f"a{LONG}": {"arg_1": "a"}, "b": {"arg_1": "c"}}}, READ),
    "score nan": ({"filtered_resps": [["nan"], ["1"]]}, REFUSED),
    "score inf": ({"filtered_resps": [["-inf"], ["1"]]}, REFUSED),
    "score huge": ({"filtered_resps": [[10**400], [1]]}, REFUSED),
    "target long": ({"target": LONG}, REFUSED),
    "target a list": ({"target": [0]}, REFUSED),
    "document a list": ({"doc": [1]}, READ),
    "replies a word": ({"filtered_resps": "ab"}, REFUSED),
}
ROWS: dict[str, tuple[dict[str, Any], bool]] = {
    "as it is": ({}, READ),
    "gold huge": ({"gold": 10**12}, REFUSED),
    "gold beyond any item": ({"gold": 300_000_000}, REFUSED),
    "gold long": ({"gold": LONG}, REFUSED),
    "gold true": ({"gold": True}, REFUSED),
    "gold 1e308": ({"gold": 1e308}, REFUSED),
    "gold -1": ({"gold": -1}, REFUSED),
    "choice a list": ({"choice": [0]}, REFUSED),
    "id long": ({"id": 10**4000}, REFUSED),
    "id a way out": ({"id": "../../x"}, READ),
    "scores huge": ({"scores": [10**400, 0]}, REFUSED),
    "scores an object": ({"scores": {"1": 1, "2": 2}}, REFUSED),
    "scores a word": ({"scores": "12"}, REFUSED),
    "scores deep": ({"scores": DEEP}, REFUSED),
    "scores long": ({"scores": f"[1{LONG}, 0]"}, REFUSED),
    "score long": ({f"score_{LONG}": 1, "score_1": 2}, REFUSED),
    "score nan": ({"score_0": "nan", "score_1": 1}, REFUSED),
    "attributes nested": ({"attributes": {"a": {"b": [1]}}}, READ),
    "group an object": ({"group": {"a": 1}}, READ),
    "a formula": ({"id": "=cmd|'/C calc'!A0", "note": "=1+1"}, READ),
}


def cases() -> Iterator[Any]:
    for name, (change, fine) in SAMPLES.items():
        log = json.dumps({"eval": {"model": "m"}, "samples": [{**SAMPLE, **change}]})
        yield pytest.param("log.json", log.encode(), fine, id=f"sample: {name}")
        yield pytest.param("log.eval", archive({**SAMPLE, **change}), fine, id=f"archive: {name}")
    for name, (change, fine) in LINES.items():
        yield pytest.param(
            "samples_x.jsonl", f"{json.dumps({**LINE, **change})}\n".encode(), fine, id=f"harness: {name}"
        )
    for name, (change, fine) in ROWS.items():
        yield pytest.param("t.jsonl", f"{json.dumps({**ROW, **change})}\n".encode(), fine, id=f"row: {name}")
        if not any(isinstance(value, dict | list) for value in change.values()):
            cells = {key: str(value) for key, value in {**ROW, **change}.items()} if name != "id long" else {}
            text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in (cells, cells.values()))
            fine = fine or change.get("choice") == [0]
            yield pytest.param("t.csv", f"{text}\n".encode(), fine and bool(cells), id=f"cell: {name}")
    for file in ("log.json", "log.eval", "t.csv", "t.tsv", "t.jsonl", "samples_x.jsonl"):
        for name, content in {
            "empty": b"",
            "binary": damage.BINARY,
            "a page": damage.PAGE,
            "a pointer": damage.POINTER,
            "deep": b'{"samples": ' + DEEP.encode(),
            "null": b"null\n",
            "UTF-16": "id,gold,choice\na,0,0\n".encode("utf-16"),
        }.items():
            yield pytest.param(file, content, REFUSED, id=f"{file}: {name}")
    whole = archive(SAMPLE)
    for name, content in {
        "cut": whole[:60],
        "encrypted": whole.replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01").replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
        ),
        "a list": archive([1]),
        **{
            f"hurt {method} {at}": hurt(archive(SAMPLE, method), at)
            for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
            for at in (35, 45, 60)
        },
    }.items():
        yield pytest.param("log.eval", content, REFUSED, id=f"archive {name}")


def archive(sample: Any, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as made:
        made.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        made.writestr("samples/1.json", json.dumps(sample))
    return held.getvalue()


def hurt(content: bytes, at: int) -> bytes:
    return content[:at] + b"\xff\xff\xff" + content[at + 3 :]


@pytest.mark.parametrize(("file", "content", "fine"), list(cases()))
def test_a_file_of_another_tool(tmp_path: Path, file: str, content: bytes, fine: bool) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    tracemalloc.start()
    try:
        if fine:
            (row,) = read(path, None).predictions
            assert row.gold in range(len(row.scores))
            assert type(row.gold) is int
        else:
            with pytest.raises(FiglangError, match=rf"{file}|row|line|sample"):
                read(path, None)
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


def test_an_archive_is_not_unpacked_beyond_its_bounds(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", "{}")
        with made.open("samples/1.json", "w") as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(FiglangError, match="not a log of inspect_ai"):
        read(path, None)


@pytest.mark.parametrize("file", ["log.json", "log.eval", "t.csv", "t.jsonl"])
@pytest.mark.parametrize("kind", ["missing", "a folder", "a loop"])
def test_what_is_no_file(tmp_path: Path, file: str, kind: str) -> None:
    (tmp_path / file).write_text("x")
    damage.ANY[kind](file)(tmp_path)
    with pytest.raises(FiglangError, match=file):
        read(tmp_path / file, None)
