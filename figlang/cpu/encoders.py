"""Layers of encoders like BERT and MPNet, for training on a CPU: one step of autograd each.

A layer is some sixty operations of autograd, and most of them are passes over all activations. Written as one
step, sums are added in place, nothing is kept twice, dropout draws once, and autograd has little to do.

The last layer computes the first token of each row alone, if a network reads no others.

Shape letters: N rows, T tokens of a row, S tokens that are not padding, Q tokens that are computed, U tokens
of a row that are computed, H hidden size, G heads, D size of a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu
from transformers.activations import GELUActivation
from transformers.models.bert import modeling_bert as bert
from transformers.models.mpnet import modeling_mpnet as mpnet

from figlang.cpu.adapted import Rounded, exact, linear_of, off, weights_of
from figlang.cpu.alike import alike
from figlang.cpu.attention import softmax, softmax_back
from figlang.cpu.dropout import FastDropout, clear, places_of, scale
from figlang.cpu.layers import TENSORS, Linear
from figlang.cpu.parts import untouched

aten = torch.ops.aten


@dataclass(frozen=True)
class Rows:
    """Where the tokens of a batch are.

    Attributes:
        real: The place of each token among all N * T, (S,).
        place: The token of each place, (N * T,); any token for padding.
        shape: N and T.
    """

    real: Tensor
    place: Tensor
    shape: tuple[int, int]

    @cached_property
    def first(self) -> Tensor:
        """The first token of each row, (N,)."""
        return self.place.view(self.shape)[:, 0]

    def heads(self, number: int) -> tuple[Tensor, Tensor]:
        """The places of (N, G, T) among (S, G), and those of (S, G) among (N, G, T).

        Args:
            number: G, the same in all layers.
        """
        if not self._heads:
            rows, length = self.shape
            heads = torch.arange(number)
            self._heads.append((self.place.view(rows, 1, length) * number + heads[:, None]).flatten())
            starts = self.real // length * (number * length) + self.real % length
            self._heads.append((starts[:, None] + heads * length).flatten())
        return self._heads[0], self._heads[1]

    _heads: list[Tensor] = field(default_factory=list)


class Parts(NamedTuple):
    """The parts of a layer.

    Attributes:
        linears: Query, key, value and output of the attention, and both of the feed-forward part.
        rounded: The frozen weights of each in other precisions.
        norms: After the attention, and after the feed-forward part.
        drops: Before each norm, and of the attention weights.
        heads: G.
    """

    linears: Sequence[Any]
    rounded: Sequence[Rounded]
    norms: Sequence[nn.LayerNorm]
    drops: Sequence[nn.Dropout]
    heads: int


def parts_of(layer: Any) -> Parts | None:
    """The parts of a layer that `compute` can stand for; None if there is another part in it.

    It has the code of BERT or MPNet. Each linear layer has an adapter, or is trained or frozen as a whole.
    `adapt_faster` must have changed layers with adapters before.
    """
    if alike(type(layer).forward, bert.BertLayer.forward):
        inner, dense = layer.attention.self, layer.attention.output
        if layer.is_decoder or layer.chunk_size_feed_forward or getattr(inner, "is_decoder", True):
            return None
        known: tuple[tuple[Any, Any], ...] = (
            (layer.attention, bert.BertAttention),
            (inner, bert.BertSelfAttention),
            (dense, bert.BertSelfOutput),
        )
        first = [inner.query, inner.key, inner.value, dense.dense]
    elif alike(type(layer).forward, mpnet.MPNetLayer.forward):
        inner, dense = layer.attention.attn, layer.attention
        known = ((dense, mpnet.MPNetAttention), (inner, mpnet.MPNetSelfAttention))
        first = [inner.q, inner.k, inner.v, inner.o]
    else:
        return None
    up, down = layer.intermediate, layer.output
    known = (*known, (up, bert.BertIntermediate), (down, bert.BertOutput))
    linears = [*first, up.dense, down.dense]
    norms, drops = [dense.LayerNorm, down.LayerNorm], [dense.dropout, down.dropout, inner.dropout]
    plain = [layer, up.intermediate_act_fn, *norms, *drops, *(part for part, _ in known)]
    rounded = [own for part in linears if (own := weights_of(part)) is not None]
    if (
        all(alike(type(part).forward, kind.forward) for part, kind in known)
        and all(untouched(part) for part in plain)
        and all(type(norm) is nn.LayerNorm and norm.bias is not None and exact(norm) for norm in norms)
        and all(type(drop) is FastDropout for drop in drops)
        and type(up.intermediate_act_fn) is GELUActivation
        and up.intermediate_act_fn.act is gelu
        and len(rounded) == len(linears)
    ):
        return Parts(linears, rounded, norms, drops, inner.num_attention_heads)
    return None


def can(parts: Parts, states: Tensor) -> bool:
    """Whether a layer is to be computed by `compute` now: in a training, with its adapters if it has them."""
    return (
        torch.is_grad_enabled()
        and states.device.type == "cpu"
        and bool(states.numel())
        and states.dtype in (torch.float32, torch.float64)
        and parts.drops[0].training
        and not any(off(part) for part in parts.linears)
    )


def compute(parts: Parts, states: Tensor, bias: Tensor | None, rows: Rows | None, first: bool) -> Tensor:
    """The output of a layer in training.

    Args:
        parts: The layer.
        states: Its input, (1, S, H) with `rows`, otherwise (N, T, H).
        bias: What is added to the scores of the attention, for (N, G, T, T).
        rows: Where the tokens are; None if there is no padding.
        first: Compute the first token of each row alone. All rows must begin with a token.

    Returns:
        The states after it, in the shape of its input. Those of tokens that are not computed are zeros.
    """
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
    with torch.autocast("cpu", enabled=False):
        layers = [linear_of(*each, dtype) for each in zip(parts.linears, parts.rounded, strict=True)]
        flat = states.reshape(-1, states.shape[-1])
        trained = [each for layer in layers for each in layer.trained]
        trained += [each for norm in parts.norms for each in (norm.weight, norm.bias)]
        shape = (states.shape[0], states.shape[1]) if rows is None else rows.shape
        asked = None
        if first:
            asked = rows.first if rows is not None else torch.arange(0, len(flat), shape[1])
            bias = None if bias is None else bias[:, :, :1]
        result: Tensor = _Layer.apply(flat, asked, bias, rows, shape, parts, layers, *trained)  # type: ignore[no-untyped-call]
        if asked is not None:
            result = torch.zeros_like(flat).index_copy(0, asked, result)
    return result.view(states.shape)


class _Layer(torch.autograd.Function):
    """A layer, with gradients for its input and what is trained in it."""

    @staticmethod
    def forward(
        ctx: Any,
        x_SH: Tensor,
        asked: Tensor | None,
        bias: Tensor | None,
        rows: Rows | None,
        shape: tuple[int, int],
        parts: Parts,
        layers: Sequence[Linear],
        *_trained: Tensor,
    ) -> Tensor:
        dtype = layers[0].weight_OI.dtype
        own_rows, own_shape = (rows, shape) if asked is None else (None, (shape[0], 1))
        own_QH = x_SH if asked is None else x_SH.index_select(0, asked)
        rounded_SH = x_SH.to(dtype)
        rounded_QH = rounded_SH if asked is None else own_QH.to(dtype)
        drops = [drop.p for drop in parts.drops]
        ats = _drawn(layers, rounded_QH, rounded_SH, drops, own_shape[1] * shape[1] * shape[0] * parts.heads)
        query_QH, kept_query = layers[0].ahead(rounded_QH, ats[0])
        key_SH, kept_key = layers[1].ahead(rounded_SH, ats[1])
        value_SH, kept_value = layers[2].ahead(rounded_SH, ats[2])
        query = _by_head(query_QH, own_rows, own_shape, parts.heads)
        key, value = (_by_head(states, rows, shape, parts.heads) for states in (key_SH, value_SH))
        scaling = query.shape[-1] ** -0.5
        scores_NGUT = query @ key.transpose(-1, -2)
        scores_NGUT = scores_NGUT * scaling if bias is None else torch.add(bias, scores_NGUT, alpha=scaling)
        weights_NGUT = softmax(scores_NGUT)
        chosen_NGUT = _dropped(weights_NGUT.to(dtype), drops[2], ats[8])
        mixed_QH = _by_token(chosen_NGUT @ value, own_rows)
        output_QH, kept_output = layers[3].ahead(mixed_QH, ats[3], spare=True)
        middle_QH, *normed = _added(output_QH, own_QH, drops[0], ats[6], parts.norms[0])
        inner_QI, kept_up = layers[4].ahead(middle_QH.to(dtype), ats[4])
        output_QH, kept_down = layers[5].ahead(gelu(inner_QI), ats[5], spare=True)
        result_QH, *last = _added(output_QH, middle_QH, drops[1], ats[7], parts.norms[1])
        kept = (kept_query, kept_key, kept_value, kept_output, kept_up, kept_down)
        ctx.asked, ctx.rows, ctx.shape, ctx.parts = asked, rows, shape, parts
        ctx.bias = None if bias is None else bias.shape
        ctx.settings = [(type(layer), layer[TENSORS[type(layer)] :]) for layer in layers]
        ctx.several = [len(way) for way in kept]
        ctx.save_for_backward(
            *(query, key, value, weights_NGUT, chosen_NGUT, ats[8], inner_QI, *normed, *last),
            *(each for layer in layers for each in layer[: TENSORS[type(layer)]]),
            *(each for way in kept for each in way),
        )
        return result_QH

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        saved = iter(ctx.saved_tensors)
        query, key, value, weights_NGUT, chosen_NGUT, at, inner_QI = (next(saved) for _ in range(7))
        norms = [next(saved) for _ in range(8)]
        layers = [
            kind(*(next(saved) for _ in range(TENSORS[kind])), *settings) for kind, settings in ctx.settings
        ]
        kept = [tuple(next(saved) for _ in range(several)) for several in ctx.several]
        asked, rows, shape, parts = ctx.asked, ctx.rows, ctx.shape, ctx.parts
        own_rows, own_shape = (rows, shape) if asked is None else (None, (shape[0], 1))
        first, second, attended = (drop.p for drop in parts.drops)
        into: list[Tensor | None] = [None] * 12

        def through(number: int, gradient: Tensor, onto: Tensor | None = None, needed: bool = True) -> Any:
            layer, own = layers[number], kept[number]
            low_gradient, *into[2 * number : 2 * number + 2] = layer.back(own, gradient)
            return needed and layer.into_input(own, gradient, low_gradient, onto)

        sum_QH, gradient_QH, *into_last = _apart(
            gradients[0].contiguous(), norms[4:], second, parts.norms[1], inner_QI.dtype
        )
        inner_gradient_QI = aten.gelu_backward(through(5, gradient_QH), inner_QI)
        through(4, inner_gradient_QI, sum_QH)
        sum_QH, gradient_QH, *into_first = _apart(sum_QH, norms[:4], first, parts.norms[0], inner_QI.dtype)
        mixed_NGUD = _by_head(through(3, gradient_QH), own_rows, own_shape, parts.heads, empty=True)
        into_weights = mixed_NGUD @ value.transpose(-1, -2)
        if at is not None:
            clear(into_weights.mul_(scale(attended)), at)
        into_scores = softmax_back(into_weights.to(weights_NGUT.dtype), weights_NGUT)
        into_bias = into_scores.sum_to_size(ctx.bias) if ctx.needs_input_grad[2] else None
        into_scores = (into_scores * query.shape[-1] ** -0.5).to(query.dtype)
        into_heads = (
            into_scores @ key,
            into_scores.transpose(-1, -2) @ query,
            chosen_NGUT.transpose(-1, -2) @ mixed_NGUD,
        )
        needed = ctx.needs_input_grad[0]
        through(0, _by_token(into_heads[0], own_rows), sum_QH, needed)
        into_x = sum_QH
        if needed and asked is not None:
            tokens = shape[0] * shape[1] if rows is None else len(rows.real)
            into_x = sum_QH.new_zeros(tokens, sum_QH.shape[1]).index_copy_(0, asked, sum_QH)
        for number in (1, 2):
            through(number, _by_token(into_heads[number], rows), into_x, needed)
        return (into_x if needed else None, None, into_bias, *([None] * 4), *into, *into_first, *into_last)


def _drawn(
    layers: Sequence[Linear], x_QH: Tensor, x_SH: Tensor, drops: Sequence[float], scores: int
) -> list[Tensor | None]:
    """What is dropped before the adapter of each linear layer, before each norm, and of so many scores."""
    own, inner = x_QH.numel(), len(x_QH) * layers[4].weight_OI.shape[0]
    counts = (own, x_SH.numel(), x_SH.numel(), own, own, inner, own, own, scores)
    return places_of([*zip(counts, (*(layer.p for layer in layers), *drops), strict=True)])


def _by_head(
    states_SH: Tensor, rows: Rows | None, shape: tuple[int, int], heads: int, empty: bool = False
) -> Tensor:
    """(N, G, T, D) of the states of tokens. Padding has those of any token, or zeros."""
    if rows is None:
        return states_SH.view(*shape, heads, -1).transpose(1, 2).contiguous()
    values = states_SH.reshape(len(states_SH) * heads, -1)
    places, tokens = rows.heads(heads)
    if empty:
        whole = values.new_zeros(len(places), values.shape[1]).index_copy_(0, tokens, values)
    else:
        whole = values.index_select(0, places)
    return whole.view(shape[0], heads, shape[1], -1)


def _by_token(states_NGTD: Tensor, rows: Rows | None) -> Tensor:
    """(S, H) of states by head."""
    if rows is None:
        return states_NGTD.transpose(1, 2).flatten(2).flatten(0, 1)
    heads, size = states_NGTD.shape[1], states_NGTD.shape[3]
    _, tokens = rows.heads(heads)
    return states_NGTD.reshape(-1, size).index_select(0, tokens).view(-1, heads * size)


def _dropped(values: Tensor, p: float, at: Tensor | None) -> Tensor:
    """Values after dropout of some places."""
    return values if at is None else clear(values.contiguous() * scale(p), at)


def _added(
    output_SH: Tensor, x_SH: Tensor, p: float, at: Tensor | None, norm: nn.LayerNorm
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """The norm of x + drop(output), and what `_apart` needs."""
    sum_SH = x_SH + _dropped(output_SH, p, at)
    normed, mean, inverse = torch.native_layer_norm(
        sum_SH, norm.normalized_shape, norm.weight, norm.bias, norm.eps
    )
    return normed, sum_SH, mean, inverse, at


def _apart(
    gradient_SH: Tensor, kept: Sequence[Any], p: float, norm: nn.LayerNorm, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """The gradients of x and of the output that `_added` took, the second in the precision of products, and
    those of the norm's weights if they are trained."""
    sum_SH, mean, inverse, at = kept
    into_sum, into_weight, into_bias = aten.native_layer_norm_backward(
        gradient_SH,
        sum_SH,
        norm.normalized_shape,
        mean,
        inverse,
        norm.weight,
        norm.bias,
        [True, norm.weight.requires_grad, norm.bias.requires_grad],
    )
    into_output = into_sum if at is None else into_sum * scale(p)
    into_output = into_output.to(dtype)
    return into_sum, into_output if at is None else clear(into_output, at), into_weight, into_bias
