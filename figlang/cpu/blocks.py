"""Attention of a tree on a CPU: block by block of its nodes, each with the keys that one of them sees."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu.attention import asks_more


class Block(NamedTuple):
    """Queries from `start` up to `stop`, and the places of all keys that one of them sees."""

    start: int
    stop: int
    keys: Tensor | slice


def takes_blocks(network: PreTrainedModel) -> bool:
    """Whether a network attends by the function that `in_blocks` replaces, and gains: a GPU would rather do all at once."""
    registered = network._supports_attention_backend and network.config._attn_implementation == "sdpa"
    return bool(registered) and network.device.type == "cpu"


@contextmanager
def in_blocks(blocks: Sequence[Block], cast: bool = False) -> Iterator[None]:
    """Within, attention of that many queries with a mask is computed in these blocks; the mask must hide all other keys.

    In a tree of many short branches nearly all of a full attention is spent on keys that nobody sees. With `cast`,
    queries, keys and values take the mask's type.
    """
    usual = ALL_ATTENTION_FUNCTIONS["sdpa"]
    if len(blocks) < 2 and not cast:
        yield
        return

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
        if cast and attention_mask is not None:
            query, key, value = (each.to(attention_mask.dtype) for each in (query, key, value))
        if (
            len(blocks) < 2
            or attention_mask is None
            or (query.shape[2], key.shape[2]) != (blocks[-1].stop, attention_mask.shape[-1])
            or query.shape[1] % key.shape[1]
            or dropout
            or asks_more(options)
        ):
            found: tuple[Tensor, Tensor | None] = usual(
                module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
            )
            return found
        outputs = [
            scaled_dot_product_attention(
                query[:, :, start:stop],
                key[:, :, keys],
                value[:, :, keys],
                attention_mask[:, :, start:stop, keys],
                scale=scaling,
                enable_gqa=query.shape[1] != key.shape[1],
            )
            for start, stop, keys in blocks
        ]
        return torch.cat(outputs, 2).transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS["sdpa"] = usual
