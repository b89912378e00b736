"""The benchmark of a GPU: wrong words are refused, and what is missing is said with its remedy."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu
from figlang.errors import FiglangError


def refused(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the benchmark says when it refuses these words."""
    monkeypatch.setattr(sys, "argv", ["gpu.py", *words])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_folder_without_the_data_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data", str(tmp_path), "--shapes", "gemma", "--gemma", str(tmp_path), "--parts", "score"]
    said = refused(words, monkeypatch, capsys)
    assert said.startswith(f"error: no filtered/train.csv in {tmp_path}")
    assert said.count("\n") == 1


def test_an_unknown_shape_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "invalid choice: 'lama8b'" in refused(["--data", "x", "--shapes", "lama8b"], monkeypatch, capsys)


def test_why_an_engine_could_not_run_is_said_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads(count: int, mp_context: Any) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(count)

    def fails() -> Any:
        raise FiglangError(f"{'the card is full; ' * 10}\nlower batch_size")

    monkeypatch.setattr(gpu, "ProcessPoolExecutor", threads)
    assert gpu.apart(fails) == f"{'the card is full; ' * 10}lower batch_size"


def test_a_missing_harness_has_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(FiglangError, match="lm_eval is not installed; `make bench-gpu` installs it"):
        gpu.harness("nowhere", {}, 1, 1)
