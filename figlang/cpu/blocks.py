"""Attention of a tree on a CPU, block by block.

Each block holds some nodes of the tree and the keys that one of them sees. A network calls attention by the
name in its configuration. `attending` puts a dispatcher under that name. `in_blocks` puts the attention of
its blocks where the dispatcher finds it, for its own thread only. All other calls get the usual attention.

Shape letters: P queries, N keys, B blocks, Q queries of a block, K keys of a block, H heads, G heads of keys,
D size of a head.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu.attention import asks_more
from figlang.cpu.linear import in_bf16

Attention = Callable[..., tuple[Tensor, Tensor | None]]
# Scores that are computed at a time (at least those of a block). They take a megabyte, which stays in the
# caches from one product to the next.
SCORES = 2**18
_inside: ContextVar[Attention | None] = ContextVar("blocks", default=None)


class Blocks(NamedTuple):
    """Blocks of a tree.

    A place may occur twice, and a key may be seen by no query of the block.

    Attributes:
        queries: Places of the queries, (B, Q).
        keys: Places of the keys that one of the queries sees, (B, K).
        visible: Which query sees which key, (B, Q, K).
    """

    queries: Tensor
    keys: Tensor
    visible: Tensor


def takes_blocks(network: PreTrainedModel) -> bool:
    """Whether a network uses the attention that `in_blocks` replaces, and runs on a CPU.

    A GPU is faster if it computes everything at once.
    """
    registered = network._supports_attention_backend and network.config._attn_implementation == "sdpa"
    return bool(registered) and network.device.type == "cpu"


@contextmanager
def in_blocks(blocks: Sequence[Blocks], queries: int, cast: bool = False) -> Iterator[None]:
    """While the block runs, compute attention in these parts of the tree.

    This applies to attention of `queries` queries with a mask. The blocks must hold all these queries and
    must say the same as the mask, whose values are ignored. In a tree of many short branches, full attention
    spends nearly all its time on keys that no query sees. Scores and weights are computed in float32 at
    least. The output has the type of the values.

    Args:
        blocks: The blocks. Without any, only `cast` has an effect.
        queries: Number of queries of the tree.
        cast: Round weights of bf16 values to bf16 if the processor multiplies in bf16, as fused attention
            does. Queries, keys and values of the usual attention are then converted to the mask's type.
    """
    if not blocks and not cast:
        yield
        return
    batches = cache(partial(_batches, blocks))  # usually the same for all layers

    def attention(
        usual: Attention,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        dropout: float = 0.0,
        scaling: float | None = None,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        if (
            not blocks
            or attention_mask is None
            or (query.shape[2], key.shape[2]) != (queries, attention_mask.shape[-1])
            or len(query) != 1
            or query.shape[1] % key.shape[1]
            or dropout
            or asks_more(options)
        ):
            if cast and attention_mask is not None:
                query, key, value = (states.to(attention_mask.dtype) for states in (query, key, value))
            return usual(
                module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
            )
        cut = batches(query.shape[1], key.shape[1], key.shape[2])
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        with torch.autocast("cpu", enabled=False):  # autocast would round scores
            return _attended(query[0], key[0], value[0], *cut, scale, rounded=cast and in_bf16())[None], None

    token = _inside.set(attention)
    try:
        with attending():
            yield
    finally:
        _inside.reset(token)


@contextmanager
def attending() -> Iterator[None]:
    """While the block runs, `in_blocks` changes only the thread that calls it.

    So several threads can have their own blocks.
    """
    usual = ALL_ATTENTION_FUNCTIONS["sdpa"]
    if isinstance(usual, _Attending):
        yield
        return
    ALL_ATTENTION_FUNCTIONS["sdpa"] = _Attending(usual)
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS["sdpa"] = usual


class _Attending:
    """The attention of the blocks that this thread is in, or the usual one."""

    def __init__(self, usual: Attention) -> None:
        self.usual = usual

    def __call__(self, *inputs: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
        inside = _inside.get()
        return inside(self.usual, *inputs, **options) if inside else self.usual(*inputs, **options)


class _Batch(NamedTuple):
    """Blocks that are computed together.

    Attributes:
        queries: Rows of queries; a row is one head of one place.
        keys: Rows of keys.
        bias: (B, 1, Q, K), -inf where a query does not see a key.
    """

    queries: Tensor
    keys: Tensor
    bias: Tensor


def _batches(blocks: Sequence[Blocks], heads: int, groups: int, keys: int) -> tuple[list[_Batch], Tensor]:
    """The blocks as batches, and the place of each row of the output among all rows, (P * H,)."""
    batches: list[_Batch] = []
    for group in blocks:
        rows_BHQ = group.queries[:, None] * heads + torch.arange(heads)[:, None]
        rows_BGK = group.keys[:, None] + torch.arange(groups)[:, None] * keys
        bias_BQK = torch.where(group.visible, 0.0, -torch.inf)
        size = max(SCORES // (heads * group.visible[0].numel()), 1)
        parts = zip(
            torch.split(rows_BHQ, size),
            torch.split(rows_BGK, size),
            torch.split(bias_BQK[:, None], size),
            strict=True,
        )
        batches.extend(_Batch(queries.flatten(), keys.flatten(), bias) for queries, keys, bias in parts)
    rows = torch.cat([batch.queries for batch in batches])
    places = rows.new_empty(int(rows.max()) + 1)
    places[rows] = torch.arange(len(rows))
    return batches, places


def _attended(
    query_HPD: Tensor,
    key_GND: Tensor,
    value_GND: Tensor,
    batches: Sequence[_Batch],
    places: Tensor,
    scale: float,
    rounded: bool,
) -> Tensor:
    """The output (P, H, D) of attention in these batches.

    It uses plain products. torch's fused kernel is called once for each head of a block, which takes much of
    its time.
    """
    heads, count, size = query_HPD.shape
    computed_type = torch.promote_types(query_HPD.dtype, torch.float32)
    weight_type = torch.bfloat16 if rounded and value_GND.dtype == torch.bfloat16 else computed_type
    # A row is one head of one place. The rows of a batch are gathered in the order that its products need.
    query_rows, key_rows, value_rows = (
        query_HPD.transpose(0, 1).reshape(-1, size),
        key_GND.flatten(0, 1),
        value_GND.flatten(0, 1),
    )
    outputs = []
    for queries, keys, bias in batches:
        matrices, width = len(bias) * len(key_GND), bias.shape[-1]
        # Heads that share keys are one matrix.
        query = query_rows.index_select(0, queries).to(computed_type).mul_(scale).view(matrices, -1, size)
        key = key_rows.index_select(0, keys).to(computed_type).view(matrices, width, size)
        value = value_rows.index_select(0, keys).to(weight_type).view(matrices, width, -1)
        scores = torch.bmm(query, key.transpose(1, 2))
        scores.view(len(bias), heads, -1, width).add_(bias)
        outputs.append(
            torch.bmm(scores.softmax(-1).to(weight_type), value)
            .view(-1, value.shape[-1])
            .to(value_rows.dtype)
        )
    return torch.cat(outputs).index_select(0, places).view(count, heads, -1)
