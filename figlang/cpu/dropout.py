"""Dropout that draws few random numbers on a CPU: for each number that is dropped, not for each one."""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

# Standard deviations of the number of dropped places: so many more are drawn, which is hardly ever too few.
MARGIN = 6


class FastDropout(nn.Dropout):
    """nn.Dropout that draws the places that it sets to zero.

    Random numbers are drawn one after another on a CPU, and each of them takes longer than the rest of
    dropout. An instance is made by setting the `__class__` of an nn.Dropout. The class has no state of its
    own.
    """

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self.p == 0 or self.inplace:
            return super().forward(input)
        return dropped(input, self.p)


def dropped(input: Tensor, p: float) -> Tensor:
    """Dropout of a tensor: each number is set to zero at probability p, or divided by 1 - p."""
    result: Tensor = _Dropped.apply(input, p)  # type: ignore[no-untyped-call]
    return result


def places(count: int, p: float) -> Tensor:
    """The places, among so many, that dropout sets to zero, in ascending order.

    Each place is there at probability p, independently of the others, so the number of places from one to the
    next has a geometric distribution: the logarithm of a uniform number by that of 1 - p, rounded down. The
    uniform numbers have 32 bits. They come from torch's CPU generator.

    Args:
        count: Number of places to choose from.
        p: Probability of each, above 0.

    Returns:
        Indices from 0 to count - 1, int64.
    """
    if p >= 1:
        return torch.arange(count)
    found, last = [], -1
    while last < count:
        expected = (count - last) * p
        number = max(int(expected + MARGIN * math.sqrt(expected)), 0) + 8
        # A draw of 64 bits takes as long as one of 32. `random_()` without bounds never sets the sign bit.
        draws = torch.empty((number + 1) // 2, dtype=torch.int64).random_(-(2**63), None)
        uniform = draws.view(torch.int32).double().add_(2**31 + 0.5).mul_(2**-32)
        between = uniform.log_().mul_(1 / math.log1p(-p)).to(torch.int64)
        found.append(between.add_(1).cumsum_(0).add_(last))
        last = int(found[-1][-1])
    chosen = torch.cat(found) if len(found) > 1 else found[0]
    return chosen[: int(torch.searchsorted(chosen, count))]


def places_of(tensors: Sequence[tuple[int, float]]) -> list[Tensor | None]:
    """The places that dropout sets to zero in several tensors, with one draw for each probability.

    A draw of `places` is a dozen short operations, so a joint draw takes half the time of single ones.

    Args:
        tensors: The number of places of each tensor, and the probability of each of them.

    Returns:
        What `places` gives for each tensor; None where the probability is 0.
    """
    found: list[Tensor | None] = [None] * len(tensors)
    for p in dict.fromkeys(p for _, p in tensors if p):
        alike = [number for number, (_, other) in enumerate(tensors) if other == p]
        ends = list(accumulate(tensors[number][0] for number in alike))
        at = places(ends[-1], p)
        cuts = torch.searchsorted(at, torch.tensor(ends)).tolist()
        for number, start, begin, end in zip(alike, [0, *ends], [0, *cuts], cuts, strict=False):
            found[number] = at[begin:end].sub_(start)
    return found


def scale(p: float) -> float:
    """The factor of the numbers that dropout keeps."""
    return 1 / (1 - p) if p < 1 else 0.0


def clear(values: Tensor, at: Tensor) -> Tensor:
    """Set some places of a contiguous tensor to zero, counted along all its dimensions, and return it."""
    values.view(-1).index_fill_(0, at, 0)
    return values


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, p: float) -> Tensor:
        ctx.scale = scale(p)
        at = places(input.numel(), p)
        ctx.save_for_backward(at)
        return clear(input.contiguous() * ctx.scale, at)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return clear(gradients[0].contiguous() * ctx.scale, *ctx.saved_tensors), None
