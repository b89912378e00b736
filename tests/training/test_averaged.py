"""Averaged weights: worked by hand, evaluated and exported, and the same after a stop."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from pytorch_lightning import LightningModule
from safetensors.torch import load_file
from torch import nn

from figlang.training.averaged import MovingAverage, ScheduleFree
from figlang.training.callbacks import Preemption
from tests.running import train
from tests.sampled import sampled

FREE = ["method.optimizer=schedule_free", "method.schedule=constant"]
WAYS = {
    "ema": ["method.ema=0.8"],
    "free": FREE,
    "muon": ["method.optimizer=muon", "method.schedule=cosine"],
    "lion": ["method.optimizer=lion", "method.schedule=wsd"],
    "near": ["method.l2_sp=0.5"],
    "parts": ["method.accumulate=2", "method.checkpointing=true", "method.r_drop=0.5"],
    "anchored": ["model=smollm2", "method.anchor=kl", "method.anchor_texts=3"],
}


def test_the_average_is_that_worked_by_hand() -> None:
    module = LightningModule()
    module.layer = nn.Linear(1, 1, bias=False)
    weight = cast(Any, module.layer).weight
    each, trainer = MovingAverage(0.75), cast(Any, SimpleNamespace())
    for value in (4.0, 8.0, 16.0):
        nn.init.constant_(weight, value)
        each.on_train_batch_end(trainer, module, None, None, 0)
    # 4, then 0.75 * 4 + 0.25 * 8 = 5, then 0.75 * 5 + 0.25 * 16 = 7.75
    each.on_validation_start(trainer, module)
    each.on_train_end(trainer, module)
    assert weight.item() == 7.75
    each.on_train_batch_start(trainer, module, None, 0)
    assert weight.item() == 16.0


def test_schedule_free_weights_are_exchanged_for_a_validation_and_at_the_end() -> None:
    called: list[str] = []
    optimizer = SimpleNamespace(eval=lambda: called.append("eval"), train=lambda: called.append("train"))
    each, trainer, module = (
        ScheduleFree(),
        cast(Any, SimpleNamespace(optimizers=[optimizer])),
        cast(Any, None),
    )
    each.on_validation_start(trainer, module)
    each.on_train_batch_start(trainer, module, None, 0)
    each.on_train_end(trainer, module)
    assert called == ["eval", "train", "eval"]


def weights(home: Path, name: str) -> dict[str, torch.Tensor]:
    return load_file(home / "runs" / name / "seed0" / "model" / "model.safetensors")


@pytest.mark.parametrize(
    ("way", "steps"),
    sampled([("ema", 4), ("free", 4), *((way, 6) for way in WAYS)], ("parts", 6)),
)
def test_a_stopped_training_ends_with_the_same_weights(
    tmp_path: Path, way: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped between two epochs of four steps, or within the second one."""
    common = ["data.limit=16", "method.epochs=2", "method.batch_size=4", *WAYS[way]]
    whole = train(tmp_path, "run=runs/whole/seed0", *common)
    assert whole.returncode == 0, whole.stderr
    monkeypatch.setattr(Preemption, "_agreed", lambda _, module: module.global_step == steps)
    stopped = train(tmp_path, "run=runs/cut/seed0", *common)
    assert stopped.returncode != 0
    assert (tmp_path / "runs/cut/seed0/checkpoints/last.ckpt").is_file()
    monkeypatch.undo()
    resumed = train(tmp_path, "run=runs/cut/seed0", *common)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming from" in resumed.stderr
    expected, found = weights(tmp_path, "whole"), weights(tmp_path, "cut")
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert torch.equal(value, found[name]), name


def test_the_average_is_exported_and_is_not_the_last_weights(tmp_path: Path) -> None:
    for name, more in (("plain", []), ("ema", ["method.ema=0.9"])):
        result = train(tmp_path, f"run=runs/{name}/seed0", "method.epochs=2", "data.limit=16", *more)
        assert result.returncode == 0, result.stderr
    plain, averaged = weights(tmp_path, "plain"), weights(tmp_path, "ema")
    assert any(not torch.equal(plain[name], averaged[name]) for name in plain)


def test_checkpointing_changes_no_loss(tmp_path: Path) -> None:
    """Dropout of adapters is repeated, in single parts, which round in another way than a layer in one step.
    (Encoders on a CPU read padding with it, and draw other dropout.)"""
    logs: list[list[tuple[str, ...]]] = []
    for name, more in (("plain", []), ("again", ["method.checkpointing=true"])):
        words = (f"run=runs/{name}/seed0", "model=smollm2", "peft=lora", "method.epochs=1", "data.limit=16")
        result = train(tmp_path, *words, *more)
        assert result.returncode == 0, result.stderr
        with (tmp_path / "runs" / name / "seed0" / "log.csv").open() as file:
            logs.append([tuple(row) for row in csv.reader(file)][1:])
    assert [row[:-1] for row in logs[0]] == [row[:-1] for row in logs[1]]
    values = [[float(row[-1]) for row in rows] for rows in logs]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
