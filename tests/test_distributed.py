"""Two processes on the CPU: every process trains on its share of each batch, one of them reports."""

import csv
from pathlib import Path

import pytest

from tests.test_train import train

TWO = ["trainer.accelerator=cpu", "trainer.devices=2", "method.epochs=2", "data.limit=66"]


def losses(folder: Path) -> list[float]:
    with (folder / "log.csv").open(newline="") as file:
        return [float(row["value"]) for row in csv.DictReader(file) if (row["split"], row["metric"]) == ("train", "loss")]


def test_two_processes_train_and_one_reports(tmp_path: Path) -> None:
    result = train(tmp_path, "run=two", "trainer=ddp", *TWO)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("signature") == 1
    assert len((tmp_path / "two" / "predictions.jsonl").read_text().splitlines()) == 66
    assert len(losses(tmp_path / "two")) == 2


def test_a_multirun_over_several_processes_is_refused(tmp_path: Path) -> None:
    result = train(tmp_path, "trainer=ddp", *TWO, "-m", "seed=0,1")
    assert result.returncode == 2
    assert "a multirun (-m) needs trainer.devices=1" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["deepspeed_1", "deepspeed_2"])
def test_deepspeed_on_cpu_processes_gives_the_losses_of_ddp(tmp_path: Path, strategy: str) -> None:
    pytest.importorskip("deepspeed", reason="needs figlang[deepspeed]")
    for name, trainer in (("ddp", "ddp"), ("zero", strategy)):
        result = train(tmp_path, f"run={name}", f"trainer={trainer}", *TWO)
        assert result.returncode == 0, result.stderr
    assert losses(tmp_path / "zero") == pytest.approx(losses(tmp_path / "ddp"), abs=1e-4)
