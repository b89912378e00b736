"""Meters of the memory that a network needs while it reads: one for processors, one for GPUs.

On a processor, the tensors that are alive are counted. On a GPU, torch's allocator counts, so that what
kernels need within is there too.
"""

import re
import weakref
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Meter(Protocol):
    """Measures bytes of one device."""

    def held(self) -> float:
        """What is taken now."""

    def step(self, network: nn.Module, loss: Callable[[], Tensor]) -> tuple[float, float]:
        """The most that is taken at once, forward and in all of a step; gradients of weights do not count."""

    def reading(self, network: nn.Module, score: Callable[[], Any]) -> float:
        """The most that is taken at once for an output without gradients."""


def meter(device: torch.device) -> Meter | None:
    """The meter of a device; None for a kind that has none."""
    if device.type == "cuda":
        return Gpu(device)
    return Processor() if device.type == "cpu" else None


class Gpu:
    """Asks torch's allocator."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def held(self) -> float:
        return float(torch.cuda.memory_allocated(self._device))

    def step(self, network: nn.Module, loss: Callable[[], Tensor]) -> tuple[float, float]:
        trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        for parameter in trained:  # taken before, so that the allocator counts none of them for the step
            parameter.grad = torch.zeros_like(parameter)
        before = self._begin()
        value = loss()
        forward = self._most()
        value.backward()  # type: ignore[no-untyped-call]
        whole = self._most()
        for parameter in trained:
            parameter.grad = None
        return forward - before, whole - before

    def reading(self, network: nn.Module, score: Callable[[], Any]) -> float:
        before = self._begin()
        with torch.no_grad():
            score()
        return self._most() - before

    def _begin(self) -> float:
        torch.cuda.reset_peak_memory_stats(self._device)
        return self.held()

    def _most(self) -> float:
        return float(torch.cuda.max_memory_allocated(self._device))


class Processor:
    """Counts the tensors that are alive, which take nearly all of the memory that a step needs."""

    def held(self) -> float:
        status = Path("/proc/self/status")
        if status.is_file() and (kept := re.search(r"VmRSS:\s*(\d+) kB", status.read_text())):
            return int(kept[1]) * 1024.0
        return 0.0

    def step(self, network: nn.Module, loss: Callable[[], Tensor]) -> tuple[float, float]:
        with Live([*network.parameters(), *network.buffers()]) as live:
            value = loss()
            forward = len(live.changes)
            value.backward()  # type: ignore[no-untyped-call]
        gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
        apart = {live.number(gradient) for gradient in gradients}
        for parameter in network.parameters():
            parameter.grad = None
        return peak(live.changes[:forward], apart), peak(live.changes, apart)

    def reading(self, network: nn.Module, score: Callable[[], Any]) -> float:
        with torch.no_grad(), Live([*network.parameters(), *network.buffers()]) as live:
            score()
        return peak(live.changes, set())


class Live(TorchDispatchMode):
    """Notes when memory of tensors is taken and given back.

    Attributes:
        changes: Number of each piece of memory, and its bytes, negative when it is given back.
    """

    def __init__(self, known: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.changes: list[tuple[int, int]] = []
        self._alive: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._known = {_piece(tensor) for tensor in known}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(outputs):
            if isinstance(tensor, Tensor):
                self._note(tensor.untyped_storage())
        return outputs

    def number(self, tensor: Tensor) -> int | None:
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


def _piece(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def peak(changes: Iterable[tuple[int, int]], apart: Collection[int | None]) -> float:
    """The most bytes at once, without the pieces that are `apart`."""
    now = most = 0
    for number, size in changes:
        if number not in apart:
            now += size
            most = max(most, now)
    return float(most)
