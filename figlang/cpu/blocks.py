"""Attention of a tree on a CPU: block by block of its nodes, each with the keys that one of them sees.

Shape letters: P queries, B blocks, Q queries of a block, K keys of a block, H heads, G heads of keys, D size of a head.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu.attention import asks_more

CACHED = 2**24  # values of keys that blocks may have gathered at a time


class Blocks(NamedTuple):
    """Places (B, Q) of queries, those (B, K) of the keys that one of the block sees, and `visible` (B, Q, K), who sees which.

    A place may be there twice, and a key that nobody of the block sees.
    """

    queries: Tensor
    keys: Tensor
    visible: Tensor


def takes_blocks(network: PreTrainedModel) -> bool:
    """Whether a network attends by the function that `in_blocks` replaces, and gains: a GPU would rather do all at once."""
    registered = network._supports_attention_backend and network.config._attn_implementation == "sdpa"
    return bool(registered) and network.device.type == "cpu"


@contextmanager
def in_blocks(blocks: Sequence[Blocks], queries: int, cast: bool = False) -> Iterator[None]:
    """Within, attention of that many queries with a mask is computed in these blocks, which hold all of them and say what the mask
    says: its values are not looked at.

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
            or (query.shape[2], key.shape[2]) != (queries, attention_mask.shape[-1])
            or len(query) != 1
            or query.shape[1] % key.shape[1]
            or dropout
            or asks_more(options)
        ):
            found: tuple[Tensor, Tensor | None] = usual(
                module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
            )
            return found
        query_PHD = query[0].transpose(0, 1)
        output_PHD = query.new_empty(*query_PHD.shape[:2], value.shape[-1])
        for some in _few(blocks, CACHED // key[0, :, 0].numel()):
            output_BHQD = scaled_dot_product_attention(
                query_PHD[some.queries].transpose(1, 2),
                key[0][:, some.keys].transpose(0, 1),
                value[0][:, some.keys].transpose(0, 1),
                some.visible[:, None],
                scale=scaling,
                enable_gqa=query.shape[1] != key.shape[1],
            )
            output_PHD[some.queries] = output_BHQD.transpose(1, 2)
        return output_PHD[None], None

    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS["sdpa"] = usual


def _few(blocks: Sequence[Blocks], keys: int) -> Iterator[Blocks]:
    """The blocks, in batches that have at most so many keys together, or are one block."""
    for some in blocks:
        size = max(keys // some.keys.shape[1], 1)
        starts = range(0, len(some.keys), size)
        yield from (Blocks(*(part[start : start + size] for part in some)) for start in starts)
