"""`figlang find_lr`: which rates are tried, which is suggested, and what is written."""

import csv
from pathlib import Path

import numpy as np
import pytest

from figlang.commands.find_lr import main as find_lr_command
from tests import running
from tests.sampled import sampled

pytestmark = pytest.mark.drawn

QUIET = ("trainer=cpu", "trainer.threads=1", "trainer.precision=32-true", "debug=fast", "data=figqa_sample")
WAYS = {
    "pair": ("model=bert_base",),
    "dual, both directions": ("model=minilm", "method.format=dual", "method.direction=both"),
    "causal, adapters, parts": ("model=smollm2", "peft=lora", "method.accumulate=2", "method.optimizer=muon"),
    "language model, checkpointing": ("model=smollm2", "method=lm", "method.checkpointing=true"),
    "anchored": ("model=smollm2", "method.anchor=positive"),
}


def find(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[dict[str, str]]:
    monkeypatch.setattr("sys.argv", ["find_lr.py", *QUIET, f"run={folder}", *words])
    find_lr_command()
    return list(csv.DictReader((folder / "lr.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("way", sampled(WAYS, *list(WAYS)[:2]))
def test_rates_rise_by_a_factor_and_the_steepest_fall_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    rows = find(
        tmp_path / "out", monkeypatch, *WAYS[way], "steps=24", "lowest=1e-6", "highest=1e-1", "seed=1"
    )
    rates = np.array([float(row["lr"]) for row in rows])
    losses = np.array([float(row["loss"]) for row in rows])
    assert len(rates) == 24
    assert rates[0] == pytest.approx(1e-6)
    assert rates[-1] == pytest.approx(1e-1, rel=0.5)
    assert rates[2:] / rates[1:-1] == pytest.approx(np.full(22, rates[3] / rates[2]), rel=1e-3)
    falls = np.gradient(losses[10:-1], rates[10:-1])
    (chosen,) = (place for place, row in enumerate(rows) if row["suggested"] == "1")
    assert falls[chosen - 10] == pytest.approx(falls.min(), rel=0.05, abs=1e-3)
    assert f"method.lr={rates[chosen]:.2g}: " in capsys.readouterr().out
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"lr.csv", "lr.svg", "lr.png"} <= written
    assert not [name for name in written if name.endswith(".ckpt")]
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing else is written"


def test_the_same_command_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (find(tmp_path / name, monkeypatch, "steps=20") for name in ("a", "b"))
    assert first == second


def test_a_loss_that_is_no_number_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = find(tmp_path / "out", monkeypatch, "model=smollm2", "method=lm", "steps=40", "highest=1e9")
    assert 10 < len(rows) < 40
    assert f"fourfold or was not a number after {len(rows)} steps" in capsys.readouterr().out


def test_a_run_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = running.train(tmp_path, "method.epochs=1", "data=figqa_sample", "data.limit=8", "run=run")
    assert trained.returncode == 0, trained.stderr
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    with pytest.raises(SystemExit, match="2"):
        find(tmp_path / "run", monkeypatch)
    assert "run holds a training; give another folder with run=" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("lowest=2", "lowest=2 must be below highest=1"),
        ("steps=5", "steps=5 must be at least 20"),
        ("method.layer_decay=0.9", "gives layers rates of their own"),
        ("method.l2_sp=0.1", "is not in the loss that is watched"),
        ("trainer=ddp", "is for several processes"),
    ],
)
def test_what_has_no_single_rate_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
    said: str,
) -> None:
    with pytest.raises(SystemExit, match="2"):
        find(tmp_path / "out", monkeypatch, word)
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
