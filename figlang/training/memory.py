"""The memory that a training needs, estimated before it begins.

A few items go forward and back, and the largest memory that tensors take meanwhile is measured, once with one
item and once with some. So what grows with the items is told from what does not.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import torch
from pytorch_lightning import Trainer
from torch import nn

from figlang.config import MethodConfig, TrainConfig
from figlang.config.relief import ADAPTERS, AGAIN, PARTS, possible
from figlang.cpu.hasten import hasten, release
from figlang.errors import FiglangError
from figlang.training import optimizers, saving
from figlang.training.base import ChoiceModule
from figlang.training.datamodule import EVALUATED_AT_ONCE, ChoiceData
from figlang.training.meters import meter

# Bytes that an optimizer keeps for each trained weight of four bytes. Muon's are for the matrices of layers;
# AdamW moves the other weights.
KEPT = {
    "adamw": 8.0,
    "adamw_8bit": 2.03,
    "adamw_8bit_paged": 2.03,
    "lion": 4.0,
    "muon": 4.0,
    "schedule_free": 8.0,
}
# What is kept is called so.
STATES = {
    "adamw": "AdamW's moments",
    "adamw_8bit": "AdamW's moments in 8 bits",
    "adamw_8bit_paged": "AdamW's moments in 8 bits",
    "lion": "Lion's momentum",
    "muon": "Muon's momentum",
    "schedule_free": "the states of schedule-free AdamW",
}
# Low-rank adapters usually train less than this share of the weights.
LOW_RANK = 0.03
SOME = 3  # items of the second measurement
GB, MB = 1e9, 1e6


@dataclass(frozen=True)
class Forecast:
    """The estimated memory of a training, in bytes.

    Attributes:
        here: What is taken before: libraries, data and weights of the process; on a GPU, the weights.
        optimizer: State of the optimizer, and averages of the weights.
        gradients: Gradients of the trained weights.
        step: What the largest part needs besides the gradients.
        single: What a part of one item needs.
        items: Number of items of the largest part.
        recomputed: `step` with activations computed again; None if they are already, or cannot be.
        recomputed_single: `single` with activations computed again.
        validating: What the largest batch of a validation needs. Gradients are still there then.
    """

    here: float
    optimizer: float
    gradients: float
    step: float
    single: float
    items: int
    recomputed: float | None = None
    recomputed_single: float | None = None
    validating: float = 0.0

    @property
    def total(self) -> float:
        """The estimated peak."""
        return self.here + self.optimizer + self.gradients + max(self.step, self.validating)

    def in_parts(self) -> "Forecast":
        """The memory of a training that reads one item at a time."""
        return replace(self, step=self.single, recomputed=self.recomputed_single)

    def advice(self, config: TrainConfig, gpu: bool) -> list[str]:
        """The two settings that would save most, with the memory that the training would need with each.

        Args:
            config: The options of the training. Those that it has already are not named.
            gpu: Whether it runs on a GPU.
        """
        method, free = config.method, possible(config)
        ways: dict[str, Forecast] = {}
        if self.items > 1 and PARTS in free:
            most = min(_parts(method) * self.items, method.batch_size)  # parts may differ by an item
            ways[f"method.accumulate={most}"] = self.in_parts()
        if self.recomputed is not None and AGAIN in free:
            ways[AGAIN] = replace(self, step=self.recomputed)
        # bitsandbytes' step on a CPU needs more than it saves.
        if method.optimizer == "adamw" and gpu and find_spec("bitsandbytes"):
            ways["method.optimizer=adamw_8bit"] = replace(
                self, optimizer=self.optimizer * KEPT["adamw_8bit"] / KEPT["adamw"]
            )
        if ADAPTERS in free:
            ways[ADAPTERS] = replace(
                self, optimizer=self.optimizer * LOW_RANK, gradients=self.gradients * LOW_RANK
            )
        best = sorted((each.total, name) for name, each in ways.items() if each.total < self.total)[:2]
        return [f"{name} ({size(need)})" for need, name in best]


def size(bytes: float) -> str:
    """A number of bytes in words."""
    return f"{bytes / GB:.1f} GB" if bytes >= GB else f"{bytes / MB:.0f} MB"


def least(network: nn.Module, method: MethodConfig) -> float:
    """The bytes of the weights, and of the gradients and the optimizer's states of those that are trained."""
    weights = sum(each.numel() * each.element_size() for each in network.parameters())
    return weights + _gradients(network) + _kept(network, method)


def forecast(module: ChoiceModule, trainer: Trainer, batches: ChoiceData, here: float) -> Forecast | None:
    """Estimate the memory of a training whose network is on its device, in one process.

    Args:
        module: The way of training, with its network.
        trainer: Its trainer.
        batches: The items.
        here: What was taken before the first step.

    Returns:
        The estimate; None if the items are not enough to measure, or for a device without a meter.

    Raises:
        RuntimeError, MemoryError: If memory lacks even for a few items.
    """
    network, method = module.network, module.method
    strategy, precision = trainer.strategy, trainer.precision_plugin.forward_context
    device = strategy.root_device
    takes, largest = meter(device), _largest(batches, method)
    if takes is None or len(largest) < 2:
        return None

    def peaks(count: int) -> tuple[float, float]:
        batch = strategy.batch_to_device(batches.collate(largest[-count:]))
        with precision():
            return takes.step(network, lambda: module.loss(batch)["loss"])

    evaluated = batches.evaluated[0][-EVALUATED_AT_ONCE:]

    def validation(count: int) -> tuple[float, float]:
        batch = strategy.batch_to_device(batches.collate(evaluated[-count:]))
        with precision():
            return 0.0, takes.reading(network, lambda: module.score(network, batch))

    again = None
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        here += _made_once(peaks)
        single, step = _grown(peaks, len(largest))
        validating = _grown(validation, len(evaluated))[1] if len(evaluated) > 1 else 0.0
        if not method.checkpointing:
            with _computing_again(network, device) as able:
                if able:
                    _made_once(peaks)  # anew, and counted above
                    again = _grown(peaks, len(largest))
    # The average of the weights, and the weights that it stands for during an evaluation.
    averages = 2 * bool(method.ema) * _gradients(network)
    return Forecast(
        here=here,
        # A training that goes on has read its states before this.
        optimizer=0.0 if trainer.ckpt_path else _kept(network, method) + averages,
        gradients=_gradients(network),
        step=step,
        single=single,
        items=len(largest),
        recomputed=again[1] if again else None,
        recomputed_single=again[0] if again else None,
        validating=validating,
    )


def _gradients(network: nn.Module) -> float:
    """The bytes of the gradients."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    return float(sum(parameter.numel() * parameter.element_size() for parameter in trained))


def _kept(network: nn.Module, method: MethodConfig) -> float:
    """The bytes of an optimizer's state."""
    trained = [(name, parameter) for name, parameter in network.named_parameters() if parameter.requires_grad]
    matrices = optimizers.of_muon(trained) if method.optimizer == "muon" else set()
    others = "adamw" if method.optimizer == "muon" else method.optimizer
    return sum(
        parameter.numel() * KEPT["muon" if id(parameter) in matrices else others] for _, parameter in trained
    )


def _made_once(peaks: Callable[[int], tuple[float, float]]) -> float:
    """The bytes that the first step makes and later ones find, for example frozen weights in bf16."""
    (first, _), (second, _) = peaks(1), peaks(1)
    return max(0.0, first - second)


def _grown(peaks: Callable[[int], tuple[float, float]], items: int) -> tuple[float, float]:
    """The memory of a step for one item and for all, by straight lines through two measurements.

    The way forward and the way back have a line each: gradients of a vocabulary may be more than all
    activations of a few items.
    """
    some = min(SOME, items)
    one, more = peaks(1), peaks(some)
    lines = [
        least + max(0.0, most - least) / (some - 1) * (items - 1)
        for least, most in zip(one, more, strict=True)
    ]
    return max(one), max(lines)


@contextmanager
def _computing_again(network: nn.Module, device: torch.device) -> Iterator[bool]:
    """Compute the activations of layers again while the block runs, if the network can.

    The faster parts of a CPU are made anew, since they depend on that.
    """
    here = device.type == "cpu"
    if here:
        release(network)
    able = _begun(network)
    if here:
        hasten(network)
    try:
        yield able
    finally:
        if here:
            release(network)
        saving.end(network)
        if here:
            hasten(network)


def refusal(expected: Forecast | None, config: TrainConfig, gpu: bool, repeats: bool) -> FiglangError:
    """The message about a lack of memory.

    Args:
        expected: The estimate of memory, if there is one.
        config: The options of the training.
        gpu: Whether it runs on a GPU.
        repeats: Whether the network can compute activations again.
    """
    usual = [way for way in possible(config) if repeats or way != AGAIN][:2]
    if expected is None:
        return FiglangError(f"out of memory; take {' or '.join(usual)}")
    one = config.method.accumulate == "auto"
    expected = expected.in_parts() if one else expected
    advice = expected.advice(config, gpu) or usual
    return FiglangError(
        f"out of memory; this training needs about {size(expected.total)}"
        f"{' if it reads one item at a time' if one else ''}. These would help most: {' or '.join(advice)}"
    )


def _parts(method: MethodConfig) -> int:
    return 1 if method.accumulate == "auto" else int(method.accumulate)


def _largest(batches: ChoiceData, method: MethodConfig) -> Sequence[Any]:
    """The examples of the part with the most tokens, padding included."""
    parts = _parts(method)
    found = []
    for numbers in batches.buckets.batches(0):
        examples = [batches.train[number] for number in numbers]
        count = -(-len(examples) // parts)
        found.append(sorted(examples, key=lambda example: example.longest)[-count:])
    return max(found, key=lambda part: sum(len(each.sequences) for each in part) * part[-1].longest)


def _begun(network: nn.Module) -> bool:
    """Compute activations again from now on; whether the network can."""
    try:
        saving.begin(network, MethodConfig(checkpointing=True))
    except FiglangError:
        return False
    return True
