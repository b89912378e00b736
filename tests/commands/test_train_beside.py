"""Runs of a multirun beside each other, each in a process: `hydra/launcher=beside`."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.files.folders import locked
from hydra_plugins.figlang_beside import BesideLauncher
from tests.running import ROOT, TINY, environment, train, train_apart

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="hydra/launcher=beside is for Linux"),
    pytest.mark.filterwarnings(
        "ignore:`is_gradient_checkpointing` is deprecated"  # peft 0.21 asks transformers 5.23 for it
    ),
]
BESIDE = ("-m", "hydra/launcher=beside")
COMPARED = ("recipe.json", "log.csv", "predictions.jsonl", "model/adapter_model.safetensors")


def equal(one: Path, other: Path) -> None:
    for name in COMPARED:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def folders(home: Path) -> list[Path]:
    (of_recipe,) = home.glob("runs/minilm-*")
    return sorted(of_recipe.glob("seed*"))


@pytest.mark.every
def test_each_run_is_as_if_alone_and_an_error_names_its_run(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    for home in (alone, beside):
        home.mkdir()
    words = ["peft=lora", "data.limit=32"]
    assert train(alone, "-m", *words, "seed=0,1").returncode == 0
    expected = folders(alone)
    own = beside / expected[1].relative_to(alone) / "mine.txt"
    own.parent.mkdir(parents=True)
    own.write_text("a file of the user's own")

    ended = train_apart(beside, *BESIDE, *words, "seed=0,1")
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("error: 1 of 2 runs failed: #2 ("), ended.stderr
    assert "seed=1)" in last
    assert "Traceback" not in ended.stderr
    said = ended.stderr.partition("seed=1")[2].splitlines()[1]
    assert said.startswith("error: "), "its own error stands below its name"
    assert "files that do not belong to a run" in said
    equal(expected[0], folders(beside)[0])

    own.unlink()
    ended = train_apart(beside, *BESIDE, *words, "seed=0,1")
    assert ended.returncode == 0, ended.stderr
    equal(expected[1], folders(beside)[1])
    assert "2 seeds (0, 1): accuracy" in ended.stdout


@pytest.mark.slow
def test_runs_of_a_killed_command_save_their_state_and_go_on(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    for home in (alone, beside):
        home.mkdir()
    words = ["peft=lora", "method.epochs=6", "data.limit=128", "seed=0,1"]
    assert train(alone, "-m", *words).returncode == 0
    command = [sys.executable, str(ROOT / "train.py"), *BESIDE, *TINY, *words]
    process = subprocess.Popen(
        [*command, f"paths.runs={beside / 'runs'}"], cwd=beside, env=environment(beside)
    )
    end = time.monotonic() + 500
    while len(list(beside.glob("runs/minilm-*/seed?/checkpoints/last.ckpt"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < end, "both are at work"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for folder in folders(beside):
        while True:  # until its process has ended too
            try:
                with locked(folder):
                    break
            except FiglangError:
                assert time.monotonic() < end
                time.sleep(0.1)
        assert not (folder / "metrics.json").exists(), "it was asked to stop"

    ended = train_apart(beside, *BESIDE, *words, timeout=500)
    assert ended.returncode == 0, ended.stderr
    for one, other in zip(folders(alone), folders(beside), strict=True):
        equal(one, other)


@pytest.mark.parametrize("at_once", [0, -1, "two"])
def test_a_wrong_number_of_runs_is_refused(at_once: int) -> None:
    with pytest.raises(FiglangError, match=r"at_once=.* must be a number above 0"):
        BesideLauncher(at_once)
