"""Task files of BIG-bench of every damage: broken JSON, wrong targets, nested and huge ones."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from tests.attack import damage
from tests.tasks.own.written import load

GOOD = [
    {"input": f"Phrase {number}", "target_scores": {"kind": 1, "unkind": 0, "blue": 0}} for number in range(4)
]
HUGE = 10**400  # JSON has it, a float does not


def task(example: Any, **parts: Any) -> bytes:
    return json.dumps({"name": "t", "examples": [*GOOD, example], **parts}).encode()


def scored(scores: Any, **more: Any) -> bytes:
    return task({"input": "Odd", "target_scores": scores, **more})


# What the last of five examples is, or the file; and how many items are read. None: the file is refused.
ODD: dict[str, tuple[bytes, int | None]] = {
    "good": (scored({"a": 1, "b": 0}), 5),
    "scores of 0": (scored({"a": 0, "b": 0}), 4),
    "scores below 0": (scored({"a": -1, "b": -2}), 4),
    "two right": (scored({"a": 1, "b": 1}), 4),
    "no scores": (scored({}), 4),
    "scores a list": (scored(["a", "b"]), 4),
    "scores a word": (scored("a"), 4),
    "a score a word": (scored({"a": "1", "b": 0}), 4),
    "a score null": (scored({"a": None, "b": 0}), 4),
    "a score a list": (scored({"a": [1], "b": 0}), 4),
    "a score nan": (scored({"a": 1, "b": float("nan")}), 4),
    "the first score nan": (scored({"a": float("nan"), "b": 1}), 4),
    "a score infinite": (scored({"a": float("inf"), "b": 0}), 4),
    "a score of 400 digits": (scored({"a": HUGE, "b": 0.5}), 5),
    "a score true": (scored({"a": True, "b": False}), 5),
    "one option": (scored({"a": 1}), 4),
    "an option twice": (task(None).replace(b"null", b'{"input": "x", "target_scores": {"a": 1, "a": 0}}'), 4),
    "two options that look alike": (scored({"a b": 1, "a  b": 0}), 5),
    "an empty option": (scored({"": 1, "b": 0}), 4),
    "an input of a list": (task({"input": ["x"], "target_scores": {"a": 1, "b": 0}}), 4),
    "no input": (task({"target_scores": {"a": 1, "b": 0}}), 4),
    "an empty input": (task({"input": "", "target_scores": {"a": 1, "b": 0}}), 4),
    "half a character": (task({"input": "x \ud800", "target_scores": {"a": 1, "b": 0}}), None),
    "control characters": (task({"input": "x \x00\x1b[31m", "target_scores": {"a": 1, "b": 0}}), 5),
    "an example null": (task(None), 4),
    "an example a list": (task([1]), 4),
    "columns of its own": (scored({"a": 1, "b": 0}, gold=7, options="x"), 5),
    "nested columns": (scored({"a": 1, "b": 0}, more={"a": [{"b": [[]]}]}), 5),
    "examples an object": (json.dumps({"examples": {"a": 1}}).encode(), None),
    "examples empty": (json.dumps({"examples": []}).encode(), None),
    "examples in examples": (task({"examples": GOOD}), 4),
    "a prefix a list": (task(None, task_prefix=["x"]), None),
    "a prefix null": (task(None, choice_prefix=None), None),
    "cut": (task(None)[:-40], None),
    "a number of 5000 digits": (scored({"a": 1, "b": 0}).replace(b": 1", b": " + b"9" * 5000), None),
    "deep": (b'{"examples": [' + b"[" * 100_000, None),
    "deep inside": (task(None).replace(b"null", b"[" * 90_000 + b"]" * 90_000), None),
    "UTF-16": (task(None).decode().encode("utf-16"), None),
    "no UTF-8": (task(None).replace(b"Phrase 0", b"Phrase \xff"), None),
    "binary": (damage.BINARY, None),
    "a page": (damage.PAGE, None),
    "a pointer": (damage.POINTER, None),
}


@pytest.mark.parametrize("name", ODD)
def test_a_task_is_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    content, count = ODD[name]
    (tmp_path / "task.json").write_bytes(content)
    if count is None:
        with pytest.raises(FiglangError, match=r"task\.json") as error:
            load(tmp_path / "task.json")
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 600
        return
    found = load(tmp_path / "task.json")
    assert len(found.items) == count, found.notes
    assert len(found.notes) >= 5 - count, "what is left out is said"
    for item in found.items:
        assert len(set(item.options)) == len(item.options) >= 2
        assert item.gold is not None
        assert item.gold < len(item.options)


@pytest.mark.parametrize("kind", [kind for kind in damage.ANY if kind not in ("cut", "empty")])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "task.json").write_bytes(task(None))
    damage.ANY[kind]("task.json")(tmp_path)
    with pytest.raises(FiglangError, match=r"task\.json"):
        load(tmp_path / "task.json")


def test_a_huge_task_takes_time_by_its_size(tmp_path: Path) -> None:
    many = [{"input": f"x{number}", "target_scores": {"a": 1, "b": 0}} for number in range(20_000)]
    (tmp_path / "task.json").write_text(json.dumps({"examples": many}))
    assert len(load(tmp_path / "task.json").items) == 20_000
    wide = {"input": "x", "target_scores": {f"o{place}": int(place == 7) for place in range(20_000)}}
    (tmp_path / "task.json").write_text(json.dumps({"examples": [wide, *GOOD]}))
    begin = time.process_time()
    assert max(len(item.options) for item in load(tmp_path / "task.json").items) == 20_000
    assert time.process_time() - begin < 5, "each option once"
