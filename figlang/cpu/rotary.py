"""Rotary position embeddings (RoPE, arXiv 2104.09864) with few passes through memory.

They are computed in float32, also for queries and keys in bf16.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.llama import modeling_llama

from figlang.cpu.alike import alike

# The originals, kept before a function of transformers is replaced.
LLAMA = {name: getattr(modeling_llama, name) for name in ("apply_rotary_pos_emb", "rotate_half")}


def turns_as_llama(module: Any) -> bool:
    """Whether a module rotates by the code of Llama, which most families have copied."""
    return all(alike(getattr(module, name, None), function) for name, function in LLAMA.items())


@contextmanager
def rotating_in_place(network: nn.Module) -> Iterator[None]:
    """While the block runs, use `rotated` in networks that rotate queries and keys as Llama does.

    Others do not change.
    """
    modules: set[Any] = {sys.modules.get(type(part).__module__) for part in network.modules()}
    functions = {module: module.apply_rotary_pos_emb for module in modules if turns_as_llama(module)}
    try:
        for module in functions:
            module.apply_rotary_pos_emb = rotated
        yield
    finally:
        for module, function in functions.items():
            module.apply_rotary_pos_emb = function


def rotated(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> tuple[Tensor, Tensor]:
    """Turn the halves (x, y) of each head's values to (x cos - y sin, y cos + x sin).

    It computes in the precision of `cos`. The keys, which are cached, are given in their own precision.

    Args:
        q: Queries.
        k: Keys.
        cos: Cosines of the positions.
        sin: Sines of the positions.
        unsqueeze_dim: The dimension of the heads.
    """
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return _rotated(q, cos, sin), _rotated(k, cos, sin).to(k.dtype)


def _rotated(values: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = values.shape[-1] // 2
    exact = values.to(cos.dtype)
    turned = exact * cos
    turned[..., :half].addcmul_(exact[..., half:], sin[..., :half], value=-1)
    turned[..., half:].addcmul_(exact[..., :half], sin[..., half:])
    return turned


def turned(values: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the values of all heads, as `rotated` does, into a new tensor.

    Args:
        values: (N, heads, T, D) in any order in memory.
        cos: Cosines of the positions, (1 or N, T, D).
        sin: Sines of the positions.

    Returns:
        The turned values in the precision of `cos`, contiguous.
    """
    half, cos, sin = values.shape[-1] // 2, cos[:, None], sin[:, None]
    result = torch.mul(values, cos, out=cos.new_empty(values.shape))
    result[..., :half].addcmul_(values[..., half:], sin[..., :half], value=-1)
    result[..., half:].addcmul_(values[..., :half], sin[..., half:])
    return result


def turned_back(gradient: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The gradient of values by that of `turned`.

    Args:
        gradient: (N, heads, T, D).
        cos: Cosines of the positions, (1 or N, T, D).
        sin: Sines of the positions.

    Returns:
        The gradient by token, (N, T, heads, D), in the precision of `cos`.
    """
    half, cos, sin = gradient.shape[-1] // 2, cos[:, None], sin[:, None]
    result = cos.new_empty(gradient.transpose(1, 2).shape)
    by_head = torch.mul(gradient, cos, out=result.transpose(1, 2))
    by_head[..., :half].addcmul_(gradient[..., half:], sin[..., half:])
    by_head[..., half:].addcmul_(gradient[..., :half], sin[..., :half], value=-1)
    return result
