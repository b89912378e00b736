"""Attention of a tree on a CPU: block by block of its nodes, each with the keys that one of them sees.

Shape letters: P queries, B blocks, Q queries of a block, K keys of a block, H heads, G heads of keys, S heads that share one of
those, D size of a head.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu.attention import asks_more


class Blocks(NamedTuple):
    """Places (B, Q) of queries, and those (B, K) of the keys that one of the block sees; `mask` (B, Q, K) is added to scores.

    A place may be there twice, and a key that none of the block sees where the mask hides it.
    """

    queries: Tensor
    keys: Tensor
    mask: Tensor


def takes_blocks(network: PreTrainedModel) -> bool:
    """Whether a network attends by the function that `in_blocks` replaces, and gains: a GPU would rather do all at once."""
    registered = network._supports_attention_backend and network.config._attn_implementation == "sdpa"
    return bool(registered) and network.device.type == "cpu"


@contextmanager
def in_blocks(blocks: Sequence[Blocks], queries: int, cast: bool = False) -> Iterator[None]:
    """Within, attention of that many queries with a mask is computed in these blocks, which must hold all of them.

    In a tree of many short branches nearly all of a full attention is spent on keys that nobody sees. With `cast`,
    queries, keys and values take the mask's type.
    """
    usual = ALL_ATTENTION_FUNCTIONS["sdpa"]
    if not blocks and not cast:
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
            not blocks
            or attention_mask is None
            or query.shape[2] != queries
            or query.shape[1] % key.shape[1]
            or dropout
            or asks_more(options)
        ):
            found: tuple[Tensor, Tensor | None] = usual(
                module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
            )
            return found
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        query_PHD = query[0].transpose(0, 1)
        output_PHD = torch.empty_like(query_PHD)
        for some in blocks:
            output_PHD[some.queries] = _attend(
                query_PHD[some.queries], key[0][:, some.keys], value[0][:, some.keys], some.mask, scale
            )
        return output_PHD[None], None

    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS["sdpa"] = usual


def _attend(query_BQHD: Tensor, key_GBKD: Tensor, value_GBKD: Tensor, mask_BQK: Tensor, scale: float) -> Tensor:
    """Attention (B, Q, H, D): two products for all blocks and heads, which in torch's fused attention are one call each."""
    groups = key_GBKD.shape[0]
    query_GBSQD = query_BQHD.unflatten(2, (groups, -1)).permute(2, 0, 3, 1, 4)
    # Heads with the same keys are more rows of one product.
    scores_NRK = query_GBSQD.flatten(2, 3).flatten(0, 1) @ key_GBKD.flatten(0, 1).transpose(1, 2)
    scores_GBSQK = scores_NRK.float().mul_(scale).view(*query_GBSQD.shape[:4], -1)
    weights_GBSQK = scores_GBSQK.add_(mask_BQK[:, None]).softmax(-1).to(value_GBKD.dtype)
    output_NRD = weights_GBSQK.view(scores_NRK.shape) @ value_GBKD.flatten(0, 1)
    return output_NRD.view(query_GBSQD.shape).permute(1, 3, 0, 2, 4).flatten(2, 3)
