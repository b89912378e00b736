"""Give parts of a network another class or another forward for a while, and undo it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

Kinds = Mapping[type[nn.Module], type[nn.Module]]


def exchange(network: nn.Module, table: Kinds) -> None:
    """Exchange the classes of a network's parts by a table from old to new."""
    for module in network.modules():
        module.__class__ = table.get(type(module), type(module))


@contextmanager
def exchanged(parts: Iterable[nn.Module], table: Kinds) -> Iterator[None]:
    """While the block runs, exchange the classes of parts by a table from old to new."""
    changed = [(part, type(part)) for part in parts if type(part) in table]
    try:
        for part, before in changed:
            part.__class__ = table[before]
        yield
    finally:
        for part, before in changed:
            part.__class__ = before


@contextmanager
def computing(forwards: Sequence[tuple[Any, Callable[..., Tensor]]]) -> Iterator[None]:
    """While the block runs, each part computes by the function that is paired with it."""
    changed = []
    try:
        for part, forward in forwards:
            part.forward = forward
            changed.append(part)
        yield
    finally:
        for part in changed:
            del part.forward


def untouched(part: Any) -> bool:
    """Whether a part does what its class says: it has no hooks and no forward of its own.

    accelerate, for example, sets a forward on parts.
    """
    return "forward" not in vars(part) and not part._forward_hooks and not part._forward_pre_hooks
