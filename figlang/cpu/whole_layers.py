"""Layers of encoders like BERT and MPNet, for training on a CPU: one step of autograd each.

A layer is some sixty operations of autograd, and most of them are passes over all activations. Written as one
step, sums are added in place, nothing is kept twice, and autograd has little to do. The draws of dropout are
those of the single parts, in the same order.

Shape letters: N rows, T tokens of a row, S tokens that are not padding, H hidden size, G heads, D size of a
head.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, pad
from transformers.activations import GELUActivation
from transformers.models.bert import modeling_bert as bert
from transformers.models.mpnet import modeling_mpnet as mpnet

from figlang.cpu.adapted import EXACT, LINEAR, Rounded, low, rounded_of
from figlang.cpu.alike import alike
from figlang.cpu.attention import softmax
from figlang.cpu.dropout import FastDropout, clear, places, scale
from figlang.cpu.layers import Low, Trained
from figlang.cpu.linear import OneDnnLinear
from figlang.cpu.parts import untouched

aten = torch.ops.aten
# How many of the fields of a layer are tensors, which come first.
TENSORS: dict[Any, int] = {Low: 4, Trained: 2}


class Rows(NamedTuple):
    """Where the tokens of a batch are.

    Attributes:
        real: The place of each token among all N * T, (S,).
        place: The token of each place, (N * T,); any token for padding.
        shape: N and T.
    """

    real: Tensor
    place: Tensor
    shape: tuple[int, int]


class Parts(NamedTuple):
    """The parts of a layer.

    Attributes:
        linears: Query, key, value and output of the attention, and both of the feed-forward part.
        rounded: The frozen weights of each in other precisions; empty if all weights are trained.
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
    """The parts of a layer that `compute` can stand for.

    It has the code of BERT or MPNet. Either each linear layer has an adapter and all other weights are
    frozen, or all its weights are trained. `adapt_faster` must have changed layers with adapters before.
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
    if (
        all(alike(type(part).forward, kind.forward) for part, kind in known)
        and all(untouched(part) for part in plain)
        and all(type(norm) is nn.LayerNorm and norm.bias is not None for norm in norms)
        and all(type(drop) is FastDropout for drop in drops)
        and type(up.intermediate_act_fn) is GELUActivation
        and up.intermediate_act_fn.act is gelu
        and (rounded := _rounded(linears, norms)) is not None
    ):
        return Parts(linears, rounded, norms, drops, inner.num_attention_heads)
    return None


def _rounded(linears: Sequence[Any], norms: Sequence[nn.LayerNorm]) -> list[Rounded] | None:
    """The frozen weights of layers with adapters, or nothing for trained ones; None for a mixture of both."""
    kept = [own for part in linears if (own := rounded_of(part)) is not None]
    trained = {weight.requires_grad for norm in norms for weight in norm.parameters()}
    if len(kept) == len(linears):
        return kept if trained == {False} else None
    for part in linears:
        if type(part) not in LINEAR or not untouched(part) or part.bias is None:
            return None
        trained |= {weight.requires_grad for weight in part.parameters()}
        if not all(type(weight.data) is Tensor and weight.dtype in EXACT for weight in part.parameters()):
            return None
    return [] if trained == {True} else None


def can(parts: Parts, states: Tensor) -> bool:
    """Whether a layer is to be computed by `compute` now: in a training, with its adapters if it has them."""
    return (
        torch.is_grad_enabled()
        and states.device.type == "cpu"
        and bool(states.numel())
        and states.dtype in (torch.float32, torch.float64)
        and parts.drops[0].training
        and not (parts.rounded and any(_off(part) for part in parts.linears))
    )


def _off(part: Any) -> bool:
    """Whether a layer with adapters computes without its one adapter now."""
    return part.merged or part.disable_adapters or len(part.active_adapters) != 1


def compute(parts: Parts, states: Tensor, bias: Tensor | None, rows: Rows | None) -> Tensor:
    """The output of a layer in training.

    Args:
        parts: The layer.
        states: Its input, (1, S, H) with `rows`, otherwise (N, T, H).
        bias: What is added to the scores of the attention, for (N, G, T, T).
        rows: Where the tokens are; None if there is no padding.

    Returns:
        The states after it, in the shape of its input.
    """
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
    with torch.autocast("cpu", enabled=False):
        layers = _linears(parts, dtype)
        flat = states.reshape(-1, states.shape[-1])
        trained = [each for layer in layers for each in layer.trained]
        if not parts.rounded:
            trained += [each for norm in parts.norms for each in (norm.weight, norm.bias)]
        shape = (states.shape[0], states.shape[1]) if rows is None else rows.shape
        result: Tensor = _Layer.apply(flat, bias, rows, shape, parts, layers, *trained)  # type: ignore[no-untyped-call]
    return result.view(states.shape)


def _linears(parts: Parts, dtype: torch.dtype) -> Sequence[Low | Trained]:
    """The linear layers as they compute now, in the precision of their products."""
    if parts.rounded:
        return [low(part, own, dtype) for part, own in zip(parts.linears, parts.rounded, strict=True)]
    return [
        Trained(part.weight.to(dtype), part.bias.to(dtype), type(part) is OneDnnLinear)
        for part in parts.linears
    ]


class _Layer(torch.autograd.Function):
    """A layer, with gradients for its input and what is trained in it."""

    @staticmethod
    def forward(
        ctx: Any,
        x_SH: Tensor,
        bias: Tensor | None,
        rows: Rows | None,
        shape: tuple[int, int],
        parts: Parts,
        layers: Sequence[Low | Trained],
        *_trained: Tensor,
    ) -> Tensor:
        dtype = layers[0].weight_OI.dtype
        rounded_SH = x_SH.to(dtype)
        outputs, kept = zip(*(layer.ahead(rounded_SH) for layer in layers[:3]), strict=True)
        query, key, value = (_by_head(output, rows, shape, parts.heads) for output in outputs)
        scaling = query.shape[-1] ** -0.5
        scores_NGTT = query @ key.transpose(-1, -2)
        scores_NGTT = scores_NGTT * scaling if bias is None else torch.add(bias, scores_NGTT, alpha=scaling)
        weights_NGTT = softmax(scores_NGTT)
        first, second, attended = (drop.p for drop in parts.drops)
        chosen_NGTT, at = _dropped(weights_NGTT.to(dtype), attended)
        mixed_SH = _by_token(chosen_NGTT @ value, rows)
        output_SH, kept_output = layers[3].ahead(mixed_SH)
        middle_SH, *normed = _added(output_SH, x_SH, first, parts.norms[0])
        inner_SI, kept_up = layers[4].ahead(middle_SH.to(dtype))
        output_SH, kept_down = layers[5].ahead(gelu(inner_SI))
        result_SH, *last = _added(output_SH, middle_SH, second, parts.norms[1])
        ctx.rows, ctx.shape, ctx.parts = rows, shape, parts
        ctx.kind, ctx.settings = type(layers[0]), [layer[TENSORS[type(layer)] :] for layer in layers]
        ctx.save_for_backward(
            *(query, key, value, weights_NGTT, chosen_NGTT, at, inner_SI, *normed, *last),
            *(each for layer in layers for each in layer[: TENSORS[type(layer)]]),
            *(each for way in (*kept, kept_output, kept_up, kept_down) for each in way),
        )
        return result_SH

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        saved = list(ctx.saved_tensors)
        query, key, value, weights_NGTT, chosen_NGTT, at, inner_SI = saved[:7]
        norms, rest = saved[7:15], saved[15:]
        several = TENSORS[ctx.kind]
        layers = [
            ctx.kind(*rest[several * i : several * (i + 1)], *given) for i, given in enumerate(ctx.settings)
        ]
        rest = rest[several * 6 :]
        several = len(rest) // 6
        kept = [rest[several * i : several * (i + 1)] for i in range(6)]
        rows, shape, parts = ctx.rows, ctx.shape, ctx.parts
        first, second, attended = (drop.p for drop in parts.drops)
        into: list[Tensor | None] = [None] * 12

        def through(number: int, gradient: Tensor, onto: Tensor | None = None, needed: bool = True) -> Any:
            layer, own = layers[number], kept[number]
            low_gradient, *into[2 * number : 2 * number + 2] = layer.back(own, gradient)
            return needed and layer.into_input(own, gradient, low_gradient, onto)

        sum_SH, gradient_SH, *into_last = _apart(
            gradients[0].contiguous(), norms[4:], second, parts.norms[1], inner_SI.dtype
        )
        inner_gradient_SI = aten.gelu_backward(through(5, gradient_SH), inner_SI)
        through(4, inner_gradient_SI, sum_SH)
        sum_SH, gradient_SH, *into_first = _apart(sum_SH, norms[:4], first, parts.norms[0], inner_SI.dtype)
        mixed_NGTD = _by_head(through(3, gradient_SH), rows, shape, parts.heads, empty=True)
        into_weights = mixed_NGTD @ value.transpose(-1, -2)
        if at is not None:
            clear(into_weights.mul_(scale(attended)), at)
        into_scores = _softmax_back(into_weights.to(weights_NGTT.dtype), weights_NGTT)
        into_scores = into_scores.mul_(query.shape[-1] ** -0.5).to(query.dtype)
        into_heads = (
            into_scores @ key,
            into_scores.transpose(-1, -2) @ query,
            chosen_NGTT.transpose(-1, -2) @ mixed_NGTD,
        )
        needed = ctx.needs_input_grad[0]
        for number, each in enumerate(into_heads):
            through(number, _by_token(each, rows), sum_SH, needed)
        into_norms = [] if parts.rounded else [*into_first, *into_last]
        return (sum_SH if needed else None, *([None] * 5), *into, *into_norms)


def _by_head(
    states_SH: Tensor, rows: Rows | None, shape: tuple[int, int], heads: int, empty: bool = False
) -> Tensor:
    """(N, G, T, D) of the states of tokens. Padding has those of any token, or zeros."""
    if rows is not None and empty:
        whole = states_SH.new_zeros(len(rows.place), states_SH.shape[1])
        states_SH = whole.index_copy_(0, rows.real, states_SH)
    elif rows is not None:
        states_SH = states_SH.index_select(0, rows.place)
    return states_SH.view(*shape, heads, -1).transpose(1, 2).contiguous()


def _by_token(states_NGTD: Tensor, rows: Rows | None) -> Tensor:
    """(S, H) of states by head."""
    flat = states_NGTD.transpose(1, 2).flatten(2).flatten(0, 1)
    return flat if rows is None else flat.index_select(0, rows.real)


def _dropped(values: Tensor, p: float) -> tuple[Tensor, Tensor | None]:
    """Values after dropout, and the places that were dropped."""
    if not p:
        return values, None
    at = places(values.numel(), p)
    return clear(values.contiguous() * scale(p), at), at


def _added(
    output_SH: Tensor, x_SH: Tensor, p: float, norm: nn.LayerNorm
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """The norm of x + drop(output), and what `_apart` needs."""
    dropped_SH, at = _dropped(output_SH, p)
    sum_SH = x_SH + dropped_SH
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
    trained = norm.weight.requires_grad
    into_sum, into_weight, into_bias = aten.native_layer_norm_backward(
        gradient_SH,
        sum_SH,
        norm.normalized_shape,
        mean,
        inverse,
        norm.weight,
        norm.bias,
        [True, trained, trained],
    )
    into_output = into_sum if at is None else into_sum * scale(p)
    into_output = into_output.to(dtype)
    return into_sum, into_output if at is None else clear(into_output, at), into_weight, into_bias


def _softmax_back(gradient: Tensor, weights: Tensor) -> Tensor:
    """The gradient of scores, by that of their softmax.

    Weights of short rows are a part of longer rows (see `softmax`).
    """
    length, whole = weights.shape[-1], weights.stride(-2)
    longer = weights.as_strided((*weights.shape[:-1], whole), weights.stride())
    into_scores: Tensor = aten._softmax_backward_data(
        pad(gradient, (0, whole - length)) if whole > length else gradient, longer, -1, weights.dtype
    )
    return into_scores[..., :length]
