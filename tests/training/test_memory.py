"""The estimate of memory: counted by hand on a small network, and what is said if memory lacks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from figlang.config import MethodConfig
from figlang.training import fitting
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.memory import Forecast, _grown, _peaks, refusal
from tests.running import train

KNOWN = Forecast(here=1e9, optimizer=4e9, gradients=2e9, step=3e9, single=0.5e9, items=8, recomputed=1e9)


def test_the_peak_is_that_counted_by_hand() -> None:
    network = nn.Sequential(nn.Linear(100, 1000, bias=False), nn.Tanh(), nn.Linear(1000, 10, bias=False))
    inputs = torch.randn(50, 100)
    forward, whole = _peaks(network, lambda: network(inputs).sum())
    hidden = 4 * 50 * 1000
    assert forward == 2 * hidden  # before and after tanh; what is before it goes when tanh is done
    assert hidden <= whole <= 4 * hidden
    assert all(parameter.grad is None for parameter in network.parameters())


def test_what_grows_with_the_items_is_told_from_what_does_not() -> None:
    assert _grown(lambda count: (5.0 + 2 * count, 40.0), 20) == (40.0, 45.0)
    assert _grown(lambda count: (1.0, 10.0 + 3 * count), 2) == (13.0, 16.0)


def test_advice_names_the_two_settings_that_need_least() -> None:
    assert KNOWN.total == 10e9
    assert replace(KNOWN, validating=4e9).total == 11e9
    assert KNOWN.advice(MethodConfig(), adapted=False) == [
        "peft=lora (4.2 GB)",
        "method.optimizer=adamw_8bit (7.0 GB)",
    ]
    assert KNOWN.advice(MethodConfig(accumulate="2", optimizer="lion", batch_size=16), adapted=True) == [
        "method.accumulate=16 (7.5 GB)",
        "method.checkpointing=true (8.0 GB)",
    ]
    # Three parts of at most three of eight items: nine parts would be refused.
    uneven = replace(KNOWN, items=3).advice(MethodConfig(accumulate="3", optimizer="lion"), adapted=True)
    assert uneven[0] == "method.accumulate=8 (7.5 GB)"


def test_only_a_lack_of_memory_is_refused_so() -> None:
    assert refusal(RuntimeError("shapes"), KNOWN, MethodConfig(), False) is None
    said = refusal(torch.OutOfMemoryError("out of memory"), KNOWN, MethodConfig(), True)
    assert str(said) == (
        "out of memory; this training needs about 10.0 GB. These would help most: "
        "method.optimizer=adamw_8bit (7.0 GB) or method.accumulate=8 (7.5 GB)"
    )


def test_a_training_says_what_would_help_and_keeps_its_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "WORTH_SAYING", 0)
    result = train(tmp_path, "method.epochs=1", "data.limit=16", "run=runs/a/seed0")
    assert result.returncode == 0, result.stderr
    assert '"expected_memory_mb": ' in (tmp_path / "runs/a/seed0/metrics.json").read_text()

    def scarce(*_: Any) -> None:
        raise torch.OutOfMemoryError("[enforce fail] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(CrossEntropyModule, "on_train_epoch_start", scarce)
    failed = train(tmp_path, "method.epochs=1", "data.limit=16", "run=runs/b/seed0")
    assert failed.returncode == 2
    last = failed.stderr.strip().splitlines()[-1]
    assert last.startswith("error: out of memory; this training needs about ")
    assert last.count(" GB)") == 2
