"""Dropout that draws its random bits faster on a CPU."""

import torch
from torch import Tensor, nn

STEPS = 2**16


class FastDropout(nn.Dropout):
    """nn.Dropout whose mask takes a quarter of a random number for each element instead of a whole one.

    Drawing numbers is serial on a CPU. It is an eighth of a small encoder's training step. An instance is
    made by setting the `__class__` of an nn.Dropout. The class has no state of its own.
    """

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self.p == 0 or self.inplace:
            return super().forward(input)
        return input * scaled_mask(input.shape, self.p, input.dtype)


def scaled_mask(shape: torch.Size, p: float, dtype: torch.dtype) -> Tensor:
    """A mask with 0 at probability p, else 1 / (1 - p), from torch's CPU generator.

    Each element takes 16 of the 64 bits of a draw, so p is rounded to a multiple of 1/65,536. The scale is
    that of the rounded p, so the expectation is exactly 1 in float32.
    """
    mask, kept = drawn(shape, p, dtype)
    return mask.mul_(1 / kept) if kept else mask


def drawn(shape: torch.Size, p: float, dtype: torch.dtype) -> tuple[Tensor, float]:
    """A mask with 0 at probability p, else 1, and the share that is kept on average. See `scaled_mask`."""
    dropped = round(p * STEPS)
    if dropped == STEPS:
        return torch.zeros(shape, dtype=dtype), 0.0
    # `random_()` without bounds never sets the sign bit, which would bias every fourth element.
    draws = torch.empty((shape.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: shape.numel()].view(shape)
    return (bits >= dropped - STEPS // 2).to(dtype), (STEPS - dropped) / STEPS
