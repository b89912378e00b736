"""Attention for training on a CPU: short sequences, with dropout."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from figlang.models.dropout import scaled_mask

# Options of transformers' attention that ask for something else, unless they are unset.
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
    """What transformers' `sdpa` computes, with the mask of `figlang.models.dropout` on the attention weights.

    torch has no fused attention with dropout on a CPU and takes these same steps with slower random numbers. Whatever is
    not plain masked attention with dropout is left to transformers.
    """
    causal = attention_mask is None and getattr(module, "is_causal", True)
    special = any(options.get(name) not in (None, False) for name in SPECIAL) or key.shape[1] != query.shape[1]
    if not dropout or query.device.type != "cpu" or causal or special:
        plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, dropout, scaling, **options)
        return plain
    scores = (query * (query.shape[-1] ** -0.5 if scaling is None else scaling)) @ key.transpose(-1, -2)
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    elif attention_mask is not None:
        scores = scores + attention_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(value.dtype)
    kept = weights * scaled_mask(weights.shape, dropout, weights.dtype)
    return (kept @ value).transpose(1, 2).contiguous(), None
