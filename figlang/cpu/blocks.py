"""Attention of a tree on a CPU: block by block of its nodes, each with the keys that one of them sees.

A network calls attention by the name that its configuration gives. `attending` puts a dispatcher under that
name, and `in_blocks` leaves the attention of its blocks where the dispatcher finds it, for its own thread
alone; everyone else gets the usual one.

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
SCORES = (
    2**18
)  # at a time, or those of a block: a megabyte, which stays in the caches from one product to the next
_inside: ContextVar[Attention | None] = ContextVar("blocks", default=None)


class Blocks(NamedTuple):
    """Places (B, Q) of queries, those (B, K) of the keys that one of the block sees, and `visible` (B, Q, K),
    who sees which.

    A place may be there twice, and a key that nobody of the block sees.
    """

    queries: Tensor
    keys: Tensor
    visible: Tensor


def takes_blocks(network: PreTrainedModel) -> bool:
    """Whether a network attends by the function that `in_blocks` replaces, and gains: a GPU would rather do
    all at once."""
    registered = network._supports_attention_backend and network.config._attn_implementation == "sdpa"
    return bool(registered) and network.device.type == "cpu"


@contextmanager
def in_blocks(blocks: Sequence[Blocks], queries: int, cast: bool = False) -> Iterator[None]:
    """Within, attention of that many queries with a mask is computed in these blocks, which hold all of them
    and say what the mask says: its values are not looked at.

    In a tree of many short branches nearly all of a full attention is spent on keys that nobody sees. Scores
    and weights are computed in float32 at least, and the output is of the values' type. With `cast`, weights
    of bf16 values are rounded to it if the processor multiplies in it, as in fused attention; and what is
    left to the usual attention takes the mask's type first.
    """
    if not blocks and not cast:
        yield
        return
    batches = cache(partial(_batches, blocks))  # the same for all layers, as a rule

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
                query, key, value = (each.to(attention_mask.dtype) for each in (query, key, value))
            return usual(
                module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
            )
        cut = batches(query.shape[1], key.shape[1], key.shape[2])
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        with torch.autocast("cpu", enabled=False):  # which would round scores
            return _attended(query[0], key[0], value[0], *cut, scale, rounded=cast and in_bf16())[None], None

    token = _inside.set(attention)
    try:
        with attending():
            yield
    finally:
        _inside.reset(token)


@contextmanager
def attending() -> Iterator[None]:
    """Within, `in_blocks` holds for the thread that entered it alone, so that several may be in blocks of
    their own."""
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
    """Blocks that are computed together: rows of queries and keys, one head of one place each, and `bias` (B,
    1, Q, K), -inf where nobody looks."""

    queries: Tensor
    keys: Tensor
    bias: Tensor


def _batches(blocks: Sequence[Blocks], heads: int, groups: int, keys: int) -> tuple[list[_Batch], Tensor]:
    """The blocks as batches, and where among all of their rows (P * H,) each row of the output is found."""
    batches: list[_Batch] = []
    for some in blocks:
        rows_BHQ = some.queries[:, None] * heads + torch.arange(heads)[:, None]
        rows_BGK = some.keys[:, None] + torch.arange(groups)[:, None] * keys
        bias_BQK = torch.where(some.visible, 0.0, -torch.inf)
        size = max(SCORES // (heads * some.visible[0].numel()), 1)
        few = zip(
            torch.split(rows_BHQ, size),
            torch.split(rows_BGK, size),
            torch.split(bias_BQK[:, None], size),
            strict=True,
        )
        batches.extend(_Batch(queries.flatten(), keys.flatten(), bias) for queries, keys, bias in few)
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
    rounded: bool = False,
) -> Tensor:
    """The output (P, H, D) of attention in these batches.

    By plain products: torch's fused kernel is called for each head of a block by itself, and spends much of
    its time on that.
    """
    heads, count, size = query_HPD.shape
    exact = torch.promote_types(query_HPD.dtype, torch.float32)
    kept = torch.bfloat16 if rounded and value_GND.dtype == torch.bfloat16 else exact
    # In rows of one head each, a batch's are gathered in the order in which its products take them.
    query_rows, key_rows, value_rows = (
        query_HPD.transpose(0, 1).reshape(-1, size),
        key_GND.flatten(0, 1),
        value_GND.flatten(0, 1),
    )
    outputs = []
    for queries, keys, bias in batches:
        matrices, width = len(bias) * len(key_GND), bias.shape[-1]
        # Heads that share keys are one matrix.
        query = query_rows.index_select(0, queries).to(exact).mul_(scale).view(matrices, -1, size)
        key = key_rows.index_select(0, keys).to(exact).view(matrices, width, size)
        value = value_rows.index_select(0, keys).to(kept).view(matrices, width, -1)
        scores = torch.bmm(query, key.transpose(1, 2))
        scores.view(len(bias), heads, -1, width).add_(bias)
        outputs.append(
            torch.bmm(scores.softmax(-1).to(kept), value).view(-1, value.shape[-1]).to(value_rows.dtype)
        )
    return torch.cat(outputs).index_select(0, places).view(count, heads, -1)
