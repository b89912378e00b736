"""The memory that a training needs, estimated before it begins.

A few items go forward and back, and the largest memory that tensors take meanwhile is measured, once with one
item and once with some. So what grows with the items is told from what does not.
"""

import logging
import re
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from figlang.config import MethodConfig
from figlang.cpu.hasten import hasten, release
from figlang.errors import FiglangError
from figlang.machine.faults import lacks_memory
from figlang.training import optimizers, saving
from figlang.training.datamodule import EVALUATED_AT_ONCE, ChoiceData

log = logging.getLogger("figlang")

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
# Low-rank adapters usually train less than this share of the weights.
ADAPTERS = 0.03
SOME = 3  # items of the second measurement
GB = 1e9


@dataclass(frozen=True)
class Forecast:
    """The estimated memory of a training, in bytes.

    Attributes:
        here: What the process has before: libraries, data and weights.
        optimizer: State of the optimizer, and averages of the weights.
        gradients: Gradients of the trained weights.
        step: What the largest part needs besides the gradients.
        single: What a part of one item needs.
        items: Number of items of the largest part.
        recomputed: `step` with activations computed again; None if it was not measured.
        validating: What the largest batch of a validation needs. Gradients are still there then.
    """

    here: float
    optimizer: float
    gradients: float
    step: float
    single: float
    items: int
    recomputed: float | None = None
    validating: float = 0.0

    @property
    def total(self) -> float:
        """The estimated peak."""
        return self.here + self.optimizer + self.gradients + max(self.step, self.validating)

    def advice(self, method: MethodConfig, adapted: bool) -> list[str]:
        """The two settings that would save most, with the memory that the training would need with each."""
        parts = 1 if method.accumulate == "auto" else int(method.accumulate)
        ways: dict[str, float] = {}
        if self.items > 1:
            most = min(parts * self.items, method.batch_size)  # parts may differ by an item
            ways[f"method.accumulate={most}"] = replace(self, step=self.single).total
        if self.recomputed is not None and not method.checkpointing:
            ways["method.checkpointing=true"] = replace(self, step=self.recomputed).total
        if method.optimizer == "adamw":
            ways["method.optimizer=adamw_8bit"] = replace(
                self, optimizer=self.optimizer * KEPT["adamw_8bit"] / KEPT["adamw"]
            ).total
        if not adapted:
            left = replace(self, optimizer=self.optimizer * ADAPTERS, gradients=self.gradients * ADAPTERS)
            ways["peft=lora"] = left.total
        best = sorted((need, name) for name, need in ways.items() if need < self.total)[:2]
        return [f"{name} ({need / GB:.1f} GB)" for need, name in best]


def forecast(
    network: nn.Module,
    method: MethodConfig,
    loss: Callable[[Any], torch.Tensor],
    score: Callable[[Any], torch.Tensor],
    batches: ChoiceData,
    precision: Callable[[], AbstractContextManager[Any]],
) -> Forecast | None:
    """Estimate the memory of a training on a CPU.

    Args:
        network: The network, in the state in which it is trained.
        method: Settings of the training.
        loss: The loss of a batch.
        score: The scores of a batch, for a validation.
        batches: The training items.
        precision: Makes the context of the arithmetic.

    Returns:
        The estimate; None if the items are not enough to measure.
    """
    largest = _largest(batches, method)
    if len(largest) < 2:
        return None
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    gradients = float(sum(parameter.numel() * parameter.element_size() for parameter in trained))
    # The averages with the weights that they stand for, and the weights of the beginning.
    averages = (2 * bool(method.ema) + bool(method.l2_sp)) * gradients

    def peaks(count: int) -> tuple[float, float]:
        with precision():
            return _peaks(network, lambda: loss(batches.collate(largest[-count:])))

    evaluated = batches.evaluated[0][-EVALUATED_AT_ONCE:]

    def validation(count: int) -> tuple[float, float]:
        with precision(), torch.no_grad(), Live([*network.parameters(), *network.buffers()]) as live:
            score(batches.collate(evaluated[-count:]))
        return 0.0, peak(live.changes, set())

    here = _resident()
    with torch.random.fork_rng(devices=[]), _training(network):
        single, step = _grown(peaks, len(largest))
        validating = _grown(validation, len(evaluated))[1] if len(evaluated) > 1 else 0.0
    recomputed = None
    if not method.checkpointing and _repeats(network):
        with torch.random.fork_rng(devices=[]), _training(network):
            recomputed = _grown(peaks, len(largest))[1]
        saving.end(network)
    return Forecast(
        here=here,
        optimizer=_kept(network, method) + averages,
        gradients=gradients,
        step=step,
        single=single,
        items=len(largest),
        recomputed=recomputed,
        validating=validating,
    )


def _kept(network: nn.Module, method: MethodConfig) -> float:
    """The bytes of an optimizer's state."""
    trained = [(name, parameter) for name, parameter in network.named_parameters() if parameter.requires_grad]
    matrices = optimizers.of_muon(trained) if method.optimizer == "muon" else set()
    others = "adamw" if method.optimizer == "muon" else method.optimizer
    return sum(
        parameter.numel() * KEPT["muon" if id(parameter) in matrices else others] for _, parameter in trained
    )


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
def _training(network: nn.Module) -> Iterator[None]:
    """The network as it is in a training on a CPU."""
    mode = network.training
    network.train()
    hasten(network)
    try:
        yield
    finally:
        release(network)
        network.train(mode)


@contextmanager
def explained(expected: Forecast | None, method: MethodConfig, adapted: bool) -> Iterator[None]:
    """While the block runs, a lack of memory becomes one line, if there is an estimate.

    Raises:
        FiglangError: If memory lacks.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:  # torch's lack of memory is a RuntimeError
        if expected and (said := refusal(error, expected, method, adapted)):
            raise said from error
        raise


def refusal(error: Exception, expected: Forecast, method: MethodConfig, adapted: bool) -> FiglangError | None:
    """The message about a lack of memory; None for another error.

    Args:
        error: What was raised.
        expected: The estimate of memory.
        method: Settings of the method.
        adapted: Whether adapters are trained.
    """
    if not lacks_memory(error):
        return None
    advice = " or ".join(expected.advice(method, adapted)) or "a smaller model"
    return FiglangError(
        f"out of memory; this training needs about {expected.total / GB:.1f} GB. These would help most: "
        f"{advice}"
    )


def _largest(batches: ChoiceData, method: MethodConfig) -> Sequence[Any]:
    """The examples of the part with the most tokens, padding included."""
    parts = 1 if method.accumulate == "auto" else int(method.accumulate)
    found = []
    for numbers in batches.buckets.batches(0):
        examples = [batches.train[number] for number in numbers]
        count = -(-len(examples) // parts)
        found.append(sorted(examples, key=lambda example: example.longest)[-count:])
    return max(found, key=lambda part: sum(len(each.sequences) for each in part) * part[-1].longest)


def _repeats(network: nn.Module) -> bool:
    """Compute activations again from now on, if the network can."""
    try:
        saving.begin(network, MethodConfig(checkpointing=True))
    except FiglangError:
        return False
    return True


class Live(TorchDispatchMode):
    """Notes when memory of tensors is taken and given back.

    Attributes:
        changes: Number of each piece of memory, and its bytes, negative when it is given back.
    """

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.changes: list[tuple[int, int]] = []
        self._alive: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._known = {_piece(tensor) for tensor in known}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(outputs):
            if isinstance(tensor, torch.Tensor):
                self._note(tensor.untyped_storage())
        return outputs

    def number(self, tensor: torch.Tensor) -> int | None:
        """The number of a tensor's memory, if it was taken meanwhile and is still there."""
        number, *_ = self._alive.get(_piece(tensor), (None,))
        return number

    def _note(self, storage: Any) -> None:
        piece = storage._cdata
        if piece in self._known or piece in self._alive:
            return
        number, size = len(self.changes), storage.nbytes()

        def gone(_: Any) -> None:
            self._alive.pop(piece, None)
            self.changes.append((number, -size))

        self._alive[piece] = (number, weakref.ref(storage, gone))
        self.changes.append((number, size))


def _piece(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _peaks(network: nn.Module, loss: Callable[[], torch.Tensor]) -> tuple[float, float]:
    """The most bytes that tensors have at once, forward and in all of a step.

    Those of before it and the gradients do not count.
    """
    with Live([*network.parameters(), *network.buffers()]) as live:
        value = loss()
        forward = len(live.changes)
        value.backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    apart = {live.number(gradient) for gradient in gradients}
    for parameter in network.parameters():
        parameter.grad = None
    return peak(live.changes[:forward], apart), peak(live.changes, apart)


def peak(changes: Iterable[tuple[int, int]], apart: Collection[int | None]) -> float:
    """The most bytes at once, without the pieces that are `apart`."""
    now = most = 0
    for number, size in changes:
        if number not in apart:
            now += size
            most = max(most, now)
    return float(most)


def _resident() -> float:
    """The bytes of memory that this process has now."""
    status = Path("/proc/self/status")
    if status.is_file() and (kept := re.search(r"VmRSS:\s*(\d+) kB", status.read_text())):
        return int(kept[1]) * 1024.0
    return 0.0
