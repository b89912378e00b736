"""The estimate of memory: on a processor, on a GPU's stand-in, and what is said if memory lacks."""

import re
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from figlang.config import MethodConfig, ModelConfig, PeftConfig, TrainConfig
from figlang.training import foresight, memory
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.memory import Forecast, _grown, _made_once, least, refusal
from figlang.training.meters import Gpu, Processor
from tests.running import train

KNOWN = Forecast(
    here=1e9,
    optimizer=4e9,
    gradients=2e9,
    step=3e9,
    single=0.5e9,
    items=8,
    recomputed=1e9,
    recomputed_single=0.2e9,
)
LACK = "[enforce fail] DefaultCPUAllocator: can't allocate memory"


def config(peft: str = "none", causal: bool = True, **method: Any) -> TrainConfig:
    return TrainConfig(
        method=MethodConfig(**method),
        peft=PeftConfig(name=peft),
        model=ModelConfig(family="causal" if causal else "encoder"),
    )


def test_what_grows_with_the_items_is_told_from_what_does_not() -> None:
    assert _grown(lambda count: (5.0 + 2 * count, 40.0), 20) == (40.0, 45.0)
    assert _grown(lambda count: (1.0, 10.0 + 3 * count), 2) == (13.0, 16.0)


def test_what_only_the_first_step_makes_is_counted_once() -> None:
    class Rounding(nn.Linear):
        kept: torch.Tensor | None = None

        def forward(self, input: torch.Tensor) -> torch.Tensor:
            self.kept = self.weight.detach().bfloat16() if self.kept is None else self.kept
            return super().forward(input)

    network = Rounding(100, 50)

    def peaks(count: int) -> tuple[float, float]:
        return Processor().step(network, lambda: network(torch.ones(count, 100)).sum())

    assert _made_once(peaks) == 2 * 100 * 50
    assert _made_once(peaks) == 0
    assert peaks(3)[0] > peaks(1)[0], "a line through the two has the slope of the items"


def test_the_least_counts_gradients_and_the_states_of_the_optimizer_for_what_is_trained() -> None:
    network = nn.Sequential(nn.Linear(10, 10, bias=False), nn.Linear(10, 5, bias=False))
    assert least(network, MethodConfig()) == 4 * (100 + 50) * 4
    assert least(network, MethodConfig(optimizer="lion")) == 3 * (100 + 50) * 4
    network[0].requires_grad_(False)
    assert least(network, MethodConfig()) == 4 * 100 + 4 * 50 * 4


def test_advice_names_the_two_settings_that_need_least() -> None:
    assert KNOWN.total == 10e9
    assert replace(KNOWN, validating=4e9).total == 11e9
    assert KNOWN.advice(config(), gpu=False) == ["peft=lora (4.2 GB)", "method.accumulate=8 (7.5 GB)"]
    assert KNOWN.advice(config("lora", accumulate="2", optimizer="lion", batch_size=16), gpu=True) == [
        "method.accumulate=16 (7.5 GB)",
        "method.checkpointing=true (8.0 GB)",
    ]
    # Three parts of at most three of eight items: nine parts would be refused.
    uneven = replace(KNOWN, items=3).advice(config("lora", accumulate="3", optimizer="lion"), gpu=True)
    assert uneven[0] == "method.accumulate=8 (7.5 GB)"


@pytest.mark.parametrize(("gpu", "there"), [(True, True), (True, False), (False, True)])
def test_moments_in_8_bits_are_advised_where_they_help(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, there: bool
) -> None:
    monkeypatch.setattr(memory, "find_spec", lambda _: util.find_spec("torch") if there else None)
    advice = KNOWN.advice(config("lora"), gpu)
    assert ("method.optimizer=adamw_8bit (7.0 GB)" in advice) == (gpu and there)


def test_no_setting_is_advised_that_is_in_use_or_not_possible() -> None:
    assert KNOWN.advice(config("lora", checkpointing=True, accumulate="auto"), gpu=False) == []
    dual = config("lora", causal=False, format="dual", direction="both")
    assert KNOWN.advice(dual, gpu=False) == ["method.checkpointing=true (8.0 GB)"]


def test_the_message_has_the_estimate_or_what_usually_helps() -> None:
    assert str(refusal(KNOWN, config("lora"), False, True)) == (
        "out of memory; this training needs about 10.0 GB. These would help most: "
        "method.accumulate=8 (7.5 GB) or method.checkpointing=true (8.0 GB)"
    )
    assert str(refusal(KNOWN, config("lora", accumulate="auto"), False, True)) == (
        "out of memory; this training needs about 7.5 GB if it reads one item at a time. These would help "
        "most: method.checkpointing=true (7.2 GB)"
    )


@pytest.mark.parametrize(
    ("asked", "repeats", "ways"),
    [
        (config(), True, "method.batch_size=auto or method.checkpointing=true"),
        (config(), False, "method.batch_size=auto or peft=lora"),
        (config("lora", accumulate="auto"), True, "method.checkpointing=true or a smaller model"),
        (config("lora", accumulate="auto", checkpointing=True), True, "a smaller model"),
        (
            config("lora", causal=False, format="dual", direction="both", checkpointing=True),
            True,
            "method.batch_size below 8 or model.max_length below 80",
        ),
    ],
)
def test_without_an_estimate_two_settings_are_named_that_are_not_in_use(
    asked: TrainConfig, repeats: bool, ways: str
) -> None:
    assert str(refusal(None, asked, False, repeats)) == f"out of memory; take {ways}"


def test_a_training_says_what_would_help_and_keeps_its_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "WORTH_SAYING", 0)
    result = train(tmp_path, "method.epochs=1", "data.limit=16", "run=runs/a/seed0")
    assert result.returncode == 0, result.stderr
    assert "it needs about " in result.stderr
    assert '"expected_memory_mb": null' not in (tmp_path / "runs/a/seed0/metrics.json").read_text()


def scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a training fail in its first step."""

    def lacking(*_: Any) -> None:
        raise torch.OutOfMemoryError(LACK)

    monkeypatch.setattr(CrossEntropyModule, "on_train_epoch_start", lacking)


@pytest.mark.parametrize("words", [(), ("peft=lora", "model=smollm2"), ("method.checkpointing=true",)])
def test_a_small_training_is_estimated_when_memory_was_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    scarce(monkeypatch)
    failed = train(tmp_path, "method.epochs=1", "data.limit=16", "run=run", *words)
    assert failed.returncode == 2
    last = failed.stderr.strip().splitlines()[-1]
    assert last.startswith("error: out of memory; this training needs about ")
    assert len(re.findall(r"\(\d[\d.]* [MG]B\)", last)) == 2
    assert not any(word in last for word in words)


def test_where_even_a_few_items_are_too_many_the_usual_settings_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise torch.OutOfMemoryError(LACK)

    monkeypatch.setattr(foresight, "WORTH_SAYING", 0)
    monkeypatch.setattr(CrossEntropyModule, "loss", never)
    failed = train(tmp_path, "method.epochs=1", "data.limit=16", "run=run", "method.optimizer=muon")
    assert failed.returncode == 2
    assert "for weights, gradients and Muon's momentum, and more for activations" in failed.stderr
    last = failed.stderr.strip().splitlines()[-1]
    assert last == "error: out of memory; take method.batch_size=auto or method.checkpointing=true"


def test_memory_that_lacks_before_the_first_step_of_a_resumed_run_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("data.limit=16", "method.epochs=2", "run=run")

    def lacking(module: CrossEntropyModule, *_: Any) -> None:
        if module.current_epoch or not module.trainer.global_step:
            raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(CrossEntropyModule, "on_train_epoch_end", lacking)
        assert train(tmp_path, *words).returncode == 2
    assert (tmp_path / "run/checkpoints/last.ckpt").is_file()
    monkeypatch.setattr(CrossEntropyModule, "on_load_checkpoint", lacking)
    failed = train(tmp_path, *words)
    assert failed.returncode == 2
    assert "resuming from" in failed.stderr
    assert "cannot be resumed" not in failed.stderr
    assert "error: out of memory; take " in failed.stderr


class Allocator:
    """Stands in for the functions of torch.cuda on memory: it counts a gigabyte, and the tensors since."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[torch.device] = []
        self.taken = self.most = 1e9
        for name in ("memory_allocated", "max_memory_allocated", "reset_peak_memory_stats"):
            monkeypatch.setattr(torch.cuda, name, getattr(self, name))

    def take(self, bytes: float) -> None:
        self.taken += bytes
        self.most = max(self.most, self.taken)

    def memory_allocated(self, device: torch.device) -> float:
        self.asked.append(device)
        return self.taken

    def max_memory_allocated(self, device: torch.device) -> float:
        self.asked.append(device)
        return self.most

    def reset_peak_memory_stats(self, device: torch.device) -> None:
        self.asked.append(device)
        self.most = self.taken


def test_a_gpu_is_asked_for_what_its_allocator_gave_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, device = Allocator(monkeypatch), torch.device("cuda", 1)
    counts.take(9e9)
    counts.take(-9e9)  # an earlier peak
    network = nn.Linear(4, 1)

    def loss() -> torch.Tensor:
        assert all(parameter.grad is not None for parameter in network.parameters()), "taken before"
        counts.take(5e6)
        counts.take(-2e6)
        value: torch.Tensor = network(torch.ones(1, 4)).sum()
        value.register_hook(lambda _: counts.take(4e6))
        return value

    assert Gpu(device).step(network, loss) == (5e6, 7e6)
    assert all(parameter.grad is None for parameter in network.parameters())
    assert Gpu(device).held() == 1e9 + 7e6
    assert Gpu(device).reading(network, lambda: counts.take(1e6)) == 1e6
    assert set(counts.asked) == {device}


def test_a_training_on_a_gpu_is_estimated_by_its_allocator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Allocator(monkeypatch)
    whole = CrossEntropyModule.loss

    def loss(module: CrossEntropyModule, batch: Any) -> dict[str, torch.Tensor]:
        bytes = 1e8 + 1e7 * len(batch.gold)
        counts.take(bytes)
        counts.take(-bytes)
        return whole(module, batch)

    monkeypatch.setattr(CrossEntropyModule, "loss", loss)
    for module in (memory, foresight):
        monkeypatch.setattr(module, "meter", lambda _: Gpu(torch.device("cuda", 0)))
    words = ("method.epochs=1", "data.limit=16", "method.batch_size=8", "run=run")
    scarce(monkeypatch)
    failed = train(tmp_path, *words)
    last = failed.stderr.strip().splitlines()[-1]
    # a gigabyte before, 180 MB of a step, and some for this tiny network's states
    assert last.startswith("error: out of memory; this training needs about 1.2 GB. These would help most: ")
    assert "method.accumulate=8 (1.1 GB)" in last
