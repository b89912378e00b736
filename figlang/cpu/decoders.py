"""Layers of decoders like Llama, for training on a CPU: one step of autograd each.

A layer is some fifty operations of autograd beside its linear layers, and most of them are passes over all
activations. Written as one step, sums are added in place, keys are not repeated for each head, nothing is
kept twice, and autograd has little to do. The draws of dropout in adapters are those of the single parts, in
the same order.

Shape letters: N rows, T tokens of a row, S tokens of all rows, H hidden size, I inner size, G heads, K heads
of keys, Q queries that a head of keys serves (T for each of its heads), D size of a head.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import silu
from transformers.activations import SiLUActivation
from transformers.models.llama import modeling_llama as llama

from figlang.cpu.adapted import EXACT, Rounded, exact, linear_of, off, weights_of
from figlang.cpu.alike import alike
from figlang.cpu.attention import asks_more, softmax, softmax_back
from figlang.cpu.dropout import places
from figlang.cpu.layers import TENSORS, Kept, Linear
from figlang.cpu.parts import untouched
from figlang.cpu.rotary import turned, turned_back, turns_as_llama

# Families whose attention is Llama's. They differ in an option that only other attention functions read.
FAMILIES = (("llama", "Llama"), ("mistral", "Mistral"), ("qwen2", "Qwen2"))
SILU = (nn.SiLU, SiLUActivation)


class Parts(NamedTuple):
    """The parts of a layer.

    Attributes:
        attention: The attention.
        linears: Query, key, value and output of the attention; gate, up and down of the feed-forward part.
        rounded: The frozen weights of each in other precisions.
        norms: Before the attention, and before the feed-forward part.
    """

    attention: Any
    linears: Sequence[Any]
    rounded: Sequence[Rounded]
    norms: Sequence[Any]


def decode_faster(network: nn.Module) -> None:
    """Let layers with the code of Llama, Mistral or Qwen2 be one step of autograd. Others stay as they are.

    `adapt_faster` must have changed layers with adapters before.
    """
    for layer in list(network.modules()):
        if (parts := parts_of(layer)) is not None:
            layer.forward = partial(_read, layer, parts)  # type: ignore[method-assign]


def decode_as_before(network: nn.Module) -> None:
    """Undo `decode_faster`."""
    for layer in network.modules():
        own = vars(layer).get("forward")
        if isinstance(own, partial) and own.func is _read:
            del layer.forward


def parts_of(layer: Any) -> Parts | None:
    """The parts of a layer that one step can stand for; None if there is another part in it."""
    if not _has_code(layer, llama.LlamaDecoderLayer):
        return None
    attention, feed = layer.self_attn, layer.mlp
    norms = [layer.input_layernorm, layer.post_attention_layernorm]
    if not (
        _attends_as_llama(attention)
        and _has_code(feed, llama.LlamaMLP)
        and type(feed.act_fn) in SILU
        and all(_has_code(norm, llama.LlamaRMSNorm) and exact(norm) for norm in norms)
        and all(untouched(part) for part in (layer, attention, feed, feed.act_fn, *norms))
    ):
        return None
    linears = [attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj]
    linears += [feed.gate_proj, feed.up_proj, feed.down_proj]
    rounded = [own for part in linears if (own := weights_of(part)) is not None]
    return Parts(attention, linears, rounded, norms) if len(rounded) == len(linears) else None


def _has_code(part: Any, kind: Any) -> bool:
    return alike(type(part).forward, kind.forward)


def _attends_as_llama(attention: Any) -> bool:
    """Whether an attention is that of Llama, with the attention function that is replaced in a training."""
    kinds = (
        getattr(sys.modules.get(f"transformers.models.{family}.modeling_{family}"), f"{name}Attention", None)
        for family, name in FAMILIES
    )
    return (
        any(kind is not None and _has_code(attention, kind) for kind in kinds)
        and turns_as_llama(sys.modules.get(type(attention).__module__))
        and attention.config._attn_implementation == "sdpa"
        and not attention.attention_dropout
    )


def _read(
    layer: Any,
    parts: Parts,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_ids: Tensor | None = None,
    past_key_values: Any = None,
    use_cache: bool | None = False,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **named: Any,
) -> Tensor:
    """The forward of a layer: in a training, it is one step of autograd."""
    more = past_key_values is not None or asks_more(named)
    if position_embeddings is not None and not more and _can(layer, parts, hidden_states, attention_mask):
        return _compute(parts, hidden_states, attention_mask, position_embeddings)
    result: Tensor = type(layer).forward(
        layer,
        hidden_states,
        attention_mask=attention_mask,
        position_ids=position_ids,
        past_key_values=past_key_values,
        use_cache=use_cache,
        position_embeddings=position_embeddings,
        **named,
    )
    return result


def _can(layer: Any, parts: Parts, states: Tensor, mask: Tensor | None) -> bool:
    """Whether a layer is to be one step now: in a training, with its adapters if it has them."""
    return (
        torch.is_grad_enabled()
        and layer.training
        and not layer.gradient_checkpointing
        and untouched(parts.attention)
        and states.device.type == "cpu"
        and states.dim() == 3
        and bool(states.numel())
        and states.dtype in EXACT
        and (mask is None or (mask.dim() == 4 and not mask.requires_grad))
        and not any(off(part) for part in parts.linears)
    )


def _compute(parts: Parts, states: Tensor, mask: Tensor | None, turns: tuple[Tensor, Tensor]) -> Tensor:
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
    with torch.autocast("cpu", enabled=False):
        layers = [linear_of(*each, dtype) for each in zip(parts.linears, parts.rounded, strict=True)]
        trained = [each for layer in layers for each in layer.trained]
        weights = [norm.weight for norm in parts.norms]
        bias = _bias(mask, states)
        result: Tensor = _Layer.apply(states, bias, turns, parts, layers, *trained, *weights)  # type: ignore[no-untyped-call]
    return result


def _bias(mask: Tensor | None, states: Tensor) -> Tensor:
    """What is added to scores of the attention, for (N, G, T, T). Without a mask, later tokens are hidden."""
    if mask is not None and mask.dtype != torch.bool:
        return mask.to(states.dtype)
    least, length = torch.finfo(states.dtype).min, states.shape[1]
    if mask is None:
        return states.new_full((length, length), least).triu_(1)
    return states.new_zeros(mask.shape).masked_fill_(~mask, least)


class _Layer(torch.autograd.Function):
    """A layer, with gradients for its input and what is trained in it."""

    @staticmethod
    def forward(
        ctx: Any,
        x_NTH: Tensor,
        bias: Tensor,
        turns: tuple[Tensor, Tensor],
        parts: Parts,
        layers: Sequence[Linear],
        *_trained: Tensor,
    ) -> Tensor:
        shape, x_SH = (x_NTH.shape[0], x_NTH.shape[1]), x_NTH.reshape(-1, x_NTH.shape[-1])
        dtype, size = layers[0].weight_OI.dtype, parts.attention.head_dim
        normed_SH, inverse = _normed(x_SH, parts.norms[0])
        normed_SH = normed_SH.to(dtype)
        outputs, kept = _ahead(layers[:3], normed_SH)
        query, key, value = (output.view(*shape, -1, size).transpose(1, 2) for output in outputs)
        scores_shape = (*query.shape[:3], shape[1])
        query, key = (turned(each, *turns).to(dtype) for each in (query, key))
        # Heads that share keys are one matrix.
        matrices = key.shape[0] * key.shape[1]
        query, key, value = (each.reshape(matrices, -1, size) for each in (query, key, value))
        scores = torch.bmm(query, key.transpose(1, 2)).view(scores_shape)
        weights = softmax(torch.add(bias, scores, alpha=parts.attention.scaling))
        chosen = weights.to(dtype).view(matrices, -1, shape[1])
        mixed_SH = _by_token(torch.bmm(chosen, value), shape, size)
        (output_SH,), kept_output = _ahead(layers[3:4], mixed_SH)
        middle_SH = x_SH + output_SH
        normed_SH, middle_inverse = _normed(middle_SH, parts.norms[1])
        normed_SH = normed_SH.to(dtype)
        (gate_SI, up_SI), kept_inner = _ahead(layers[4:6], normed_SH)
        open_SI = silu(gate_SI)
        (output_SH,), kept_down = _ahead(layers[6:], open_SI * up_SI)
        every = (*kept, *kept_output, *kept_inner, *kept_down)
        ctx.shape, ctx.parts = shape, parts
        ctx.settings = [(type(layer), layer[TENSORS[type(layer)] :]) for layer in layers]
        ctx.several = [len(way) for way in every]
        ctx.save_for_backward(
            *(x_SH, inverse, middle_SH, middle_inverse, *turns),
            *(query, key, value, weights, gate_SI, up_SI, open_SI),
            *(each for layer in layers for each in layer[: TENSORS[type(layer)]]),
            *(each for way in every for each in way),
        )
        return (middle_SH + output_SH).view(x_NTH.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        saved, parts, shape = iter(ctx.saved_tensors), ctx.parts, ctx.shape
        x_SH, inverse, middle_SH, middle_inverse, cos, sin = (next(saved) for _ in range(6))
        query, key, value, weights, gate_SI, up_SI, open_SI = (next(saved) for _ in range(7))
        layers = [
            kind(*(next(saved) for _ in range(TENSORS[kind])), *settings) for kind, settings in ctx.settings
        ]
        kept = [tuple(next(saved) for _ in range(several)) for several in ctx.several]
        into: list[Tensor | None] = [None] * 14
        dtype, size = gate_SI.dtype, query.shape[-1]

        def through(number: int, gradient: Tensor, onto: Tensor | None = None, needed: bool = True) -> Any:
            layer, own = layers[number], kept[number]
            low_gradient, *into[2 * number : 2 * number + 2] = layer.back(own, gradient)
            return layer.into_input(own, gradient, low_gradient, onto) if needed else None

        gradient_SH = gradients[0].reshape(x_SH.shape)
        inner_SI = through(6, gradient_SH.to(dtype))
        into_up = inner_SI * open_SI
        into_gate = torch.ops.aten.silu_backward(inner_SI.mul_(up_SI), gate_SI)
        normed_SH = through(4, into_gate).to(x_SH.dtype)
        through(5, into_up, normed_SH)
        gradient_SH, into_second = _norm_back(
            normed_SH, middle_SH, middle_inverse, parts.norms[1], gradient_SH
        )
        mixed = through(3, gradient_SH.to(dtype)).view(*shape, -1, size).transpose(1, 2).contiguous()
        mixed = mixed.view(query.shape)
        chosen = weights.to(dtype).view(len(query), -1, shape[1])
        into_value = torch.bmm(chosen.transpose(1, 2), mixed)
        into_weights = torch.bmm(mixed, value.transpose(1, 2)).view(weights.shape)
        into_scores = softmax_back(into_weights.to(weights.dtype), weights)
        into_scores = (into_scores * parts.attention.scaling).to(dtype).view(chosen.shape)
        into_key = torch.bmm(into_scores.transpose(1, 2), query)
        into_query, into_key = (
            turned_back(each.view(shape[0], -1, shape[1], size), cos, sin).to(dtype).flatten(2).flatten(0, 1)
            for each in (torch.bmm(into_scores, key), into_key)
        )
        needed, onto = ctx.needs_input_grad[0] or parts.norms[0].weight.requires_grad, None
        for number, each in enumerate((into_query, into_key, _by_token(into_value, shape, size))):
            whole = through(number, each, onto, needed)
            onto = whole.to(x_SH.dtype) if needed else None
        into_first = None
        if onto is not None:
            gradient_SH, into_first = _norm_back(onto, x_SH, inverse, parts.norms[0], gradient_SH)
        into_x = gradient_SH.view(*shape, -1) if ctx.needs_input_grad[0] else None
        return into_x, *([None] * 4), *into, into_first, into_second


def _ahead(layers: Sequence[Linear], x_SI: Tensor) -> tuple[list[Tensor], list[Kept]]:
    """The outputs of layers that read the same input, and what each keeps for gradients.

    The last layer may overwrite the input, unless another one keeps it.
    """
    outputs: list[Tensor] = []
    kept: list[Kept] = []
    for number, layer in enumerate(layers, 1):
        spare = number == len(layers) and not any(each is x_SI for way in kept for each in way)
        at = places(x_SI.numel(), layer.p) if layer.p else None
        output, own = layer.ahead(x_SI, at, spare)
        outputs.append(output)
        kept.append(own)
    return outputs, kept


def _by_token(states: Tensor, shape: tuple[int, int], size: int) -> Tensor:
    """(S, G * D) of states by head, in any shape that is (N, G, T, D) in memory."""
    return states.view(shape[0], -1, shape[1], size).transpose(1, 2).flatten(2).flatten(0, 1)


def _normed(x_SH: Tensor, norm: Any) -> tuple[Tensor, Tensor]:
    """The norm of states, and the factor (S, 1) of each of them."""
    squares = torch.linalg.vector_norm(x_SH, dim=-1, keepdim=True).square_()
    inverse = squares.div_(x_SH.shape[-1]).add_(norm.variance_epsilon).rsqrt_()
    return (x_SH * inverse).mul_(norm.weight), inverse


def _norm_back(
    gradient_SH: Tensor, x_SH: Tensor, inverse: Tensor, norm: Any, onto_SH: Tensor
) -> tuple[Tensor, Tensor | None]:
    """The gradient of x by that of its norm, added to another one, and that of the norm's weight if it is
    trained. The first argument is overwritten."""
    product_SH = gradient_SH * x_SH
    into_weight = torch.mv(product_SH.t(), inverse[:, 0]) if norm.weight.requires_grad else None
    inner = torch.mv(product_SH, norm.weight)[:, None] * inverse.pow(3).div_(-x_SH.shape[-1])
    whole_SH = torch.addcmul(onto_SH, gradient_SH.mul_(norm.weight), inverse)
    return whole_SH.addcmul_(x_SH, inner), into_weight
