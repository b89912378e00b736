"""Attention for training on a CPU: short sequences, with dropout or in bf16."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward

from figlang.cpu.dropout import dropped

# Float32 numbers in a vector of AVX-512. Other processors have fewer.
VECTOR = 16
# Options of transformers' attention that ask for something else if they are set.
SPECIAL = ("is_causal", "position_bias", "cache", "softcap", "output_attentions")


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Compute transformers' `sdpa`, with the dropout of `figlang.cpu.dropout` on the attention weights.

    On a CPU, torch has no fused attention with dropout. It takes the same steps as this function, but with
    slower random numbers. In bf16, its fused attention takes several times as long as these steps. Everything
    but plain masked attention is left to transformers.

    The arguments and results are those of transformers' attention functions.
    """
    causal = attention_mask is None and getattr(module, "is_causal", True)
    special = asks_more(options) or query.shape[1] % key.shape[1]
    half = query.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    fused = not dropout and not (half and torch.is_grad_enabled())
    if fused or query.device.type != "cpu" or causal or special:
        plain: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **options
        )
        return plain
    groups = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    scores = (query * (query.shape[-1] ** -0.5 if scaling is None else scaling)) @ key.transpose(-1, -2)
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    elif attention_mask is not None:
        scores = scores + attention_mask
    weights = softmax(scores).to(value.dtype)
    if dropout:
        weights = dropped(weights, dropout)
    return (weights @ value).transpose(1, 2).contiguous(), None


def softmax(scores: Tensor) -> Tensor:
    """Softmax over the last dimension, in float32, or in the precision of the scores if that is higher.

    torch computes a row that is shorter than a vector of the processor number by number, which takes ten
    times as long as a longer row. So short rows are lengthened, and the result is the first part of each.
    """
    length = scores.shape[-1]
    if length < VECTOR:
        scores = pad(scores, (0, VECTOR - length), value=torch.finfo(scores.dtype).min)
    return scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))[..., :length]


def softmax_back(gradient: Tensor, weights: Tensor) -> Tensor:
    """The gradient of scores, by that of their softmax.

    Weights of short rows are a part of longer rows (see `softmax`).
    """
    length, whole = weights.shape[-1], weights.stride(-2)
    longer = weights.as_strided((*weights.shape[:-1], whole), weights.stride())
    into_scores: Tensor = torch.ops.aten._softmax_backward_data(
        pad(gradient, (0, whole - length)) if whole > length else gradient, longer, -1, weights.dtype
    )
    return into_scores[..., :length]


def asks_more(options: dict[str, Any]) -> bool:
    """Whether a network needs an option that only transformers' own function has."""
    return any(options.get(name) is not None and options[name] is not False for name in SPECIAL)
