"""Encoders that read the tokens of a batch without its padding.

The embeddings and the head of a network see padded rows (N, T) as usual. Between them the layers see one row
of the S tokens that are not padding, so that linear layers, norms, dropout and activations do no work for
padding. Only attention, which is small for short rows, pads queries, keys and values again.

Shape letters: N rows, T tokens of a row, S tokens that are not padding, H hidden size, G heads, D size of a
head.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.bert import modeling_bert as bert
from transformers.models.bert.modeling_bert import BertEncoder, BertSelfAttention
from transformers.models.mpnet import modeling_mpnet as mpnet
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder, MPNetLayer, MPNetSelfAttention
from transformers.models.roberta import modeling_roberta as roberta
from transformers.models.xlm_roberta import modeling_xlm_roberta as xlm_roberta

from figlang.cpu.alike import alike
from figlang.cpu.attention import attention
from figlang.cpu.encoders import Parts, Rows, can, compute, parts_of
from figlang.cpu.parts import untouched

Forward = Callable[..., Any]
# Networks that read what a pooler makes of the first token of each row, and such poolers.
HEADS = (
    bert.BertForMultipleChoice,
    bert.BertForSequenceClassification,
    roberta.RobertaForMultipleChoice,
    xlm_roberta.XLMRobertaForMultipleChoice,
    mpnet.MPNetForMultipleChoice,
)
POOLERS = (bert.BertPooler, mpnet.MPNetPooler)
OF_EVERY_LAYER = ("output_hidden_states", "output_attentions")


_mask: ContextVar[Tensor | None] = ContextVar("mask", default=None)
_rows: ContextVar[Rows | None] = ContextVar("rows", default=None)


def unpad(network: nn.Module) -> None:
    """Let the layers of a network read no padding, if they have the code of BERT or MPNet.

    Most encoders have copied that of BERT. Others stay as they are.
    """
    pooled = {id(part) for head in network.modules() if (part := of_first_tokens(head)) is not None}
    for part in list(network.modules()):
        encoder: Any = getattr(part, "encoder", None)
        if not isinstance(encoder, nn.Module) or not untouched(part) or not untouched(encoder):
            continue
        # Checkpointed layers are computed again for their gradient, when the places of tokens are not known
        # any more.
        again = any(getattr(layer, "gradient_checkpointing", False) for layer in encoder.modules())
        every = any(getattr(getattr(part, "config", None), name, False) for name in OF_EVERY_LAYER)
        if again or every or not _known(encoder):
            continue
        every_layer: Any = encoder.layer
        for layer in every_layer:
            if (parts := parts_of(layer)) is not None:
                first = id(part) in pooled and layer is every_layer[-1]
                layer.forward = partial(_read_layer, layer, parts, first)
        for layer in encoder.modules():
            if alike(type(layer).forward, MPNetSelfAttention.forward):
                layer.forward = partial(_attend_with_bias, layer)  # type: ignore[method-assign]
        stack: Any = encoder
        if hasattr(stack, "compute_position_bias"):
            stack.compute_position_bias = partial(_position_bias, stack.compute_position_bias)
        encoder.forward = partial(_read_tokens, encoder.forward)
        part.forward = partial(_read_rows, part.forward)


def repad(network: nn.Module) -> None:
    """Undo `unpad`."""
    for part in network.modules():
        for name in ("forward", "compute_position_bias"):
            own = vars(part).get(name)
            if isinstance(own, partial) and own.func in OURS:
                delattr(part, name)


def of_first_tokens(head: Any) -> Any:
    """The network whose states a head reads, if it reads those of first tokens alone.

    Args:
        head: A network with a head, or any other module.

    Returns:
        The network below the head; None for all others.
    """
    if not any(alike(type(head).forward, kind.forward) for kind in HEADS) or not untouched(head):
        return None
    base: Any = getattr(head, head.base_model_prefix)
    pooler: Any = base.pooler
    pooler = getattr(pooler, "original_module", pooler)  # peft trains a copy of it
    return base if any(alike(type(pooler).forward, kind.forward) for kind in POOLERS) else None


def unpadded(
    usual: Forward,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Compute attention with `usual`, which gets padded rows; tokens may be one row of all of them.

    The other arguments and results are those of transformers' attention functions.
    """
    rows = _rows.get()
    if rows is None:
        result: tuple[Tensor, Tensor | None] = usual(module, query, key, value, attention_mask, **options)
        return result
    parts = (_padded(states, rows) for states in (query, key, value))
    output_NTGD, weights = usual(module, *parts, attention_mask, **options)
    output_SH = _Unpad.apply(output_NTGD.flatten(0, 1).flatten(1), rows.real, rows.place)  # type: ignore[no-untyped-call]
    return output_SH.view(1, -1, *output_NTGD.shape[2:]), weights


def _known(encoder: nn.Module) -> bool:
    """Whether an encoder is a plain stack of layers that only mix tokens in an attention that is replaced."""
    if alike(type(encoder).forward, MPNetEncoder.forward):
        return any(alike(type(part).forward, MPNetSelfAttention.forward) for part in encoder.modules())
    attentions = [part for part in encoder.modules() if alike(type(part).forward, BertSelfAttention.forward)]
    return (
        alike(type(encoder).forward, BertEncoder.forward)
        and len(attentions) == len(getattr(encoder, "layer", ()))
        and all(
            not part.is_decoder and part.config._attn_implementation == "sdpa"  # type: ignore[union-attr]
            for part in attentions
        )
    )


def _read_rows(forward: Forward, *inputs: Any, **named: Any) -> Any:
    """The forward of a network: it keeps the mask of its input for its encoder.

    If states or attentions of every layer are asked for, they are those of padded rows.
    """
    if any(named.get(name) for name in OF_EVERY_LAYER):
        return forward(*inputs, **named)
    mask = named.get("attention_mask", inputs[1] if len(inputs) > 1 else None)
    token = _mask.set(mask if isinstance(mask, Tensor) and mask.dim() == 2 else None)
    try:
        return forward(*inputs, **named)
    finally:
        _mask.reset(token)


def _read_tokens(forward: Forward, hidden_states: Tensor, *inputs: Any, **named: Any) -> Any:
    """The forward of a stack of layers: it reads the tokens, and gives padded rows with zeros for padding."""
    mask = _mask.get()
    if mask is None or mask.shape != hidden_states.shape[:2] or bool(mask.all()):
        return forward(hidden_states, *inputs, **named)
    flat = mask.flatten().bool()
    rows = Rows(flat.nonzero()[:, 0], (flat.cumsum(0) - 1).clamp(min=0), (mask.shape[0], mask.shape[1]))
    states_SH = _Unpad.apply(hidden_states.flatten(0, 1), rows.real, rows.place)  # type: ignore[no-untyped-call]
    token = _rows.set(rows)
    try:
        outputs = forward(states_SH[None], *inputs, **named)
    finally:
        _rows.reset(token)
    last = outputs[0]
    whole = last.new_zeros(len(flat), last.shape[-1]).index_copy(0, rows.real, last[0])
    whole = whole.view(*hidden_states.shape)
    if isinstance(outputs, tuple):
        return (whole, *outputs[1:])
    outputs["last_hidden_state"] = whole
    return outputs


def _padded(states_1GSD: Tensor, rows: Rows) -> Tensor:
    """(N, G, T, D) of the states of all tokens."""
    tokens_SH = states_1GSD[0].transpose(0, 1).flatten(1)
    padded = _Pad.apply(tokens_SH, rows.real, rows.place)  # type: ignore[no-untyped-call]
    return padded.view(*rows.shape, states_1GSD.shape[1], -1).transpose(1, 2)  # type: ignore[no-any-return]


def _read_layer(
    layer: Any,
    parts: Parts,
    first: bool,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    **named: Any,
) -> Any:
    """The forward of a layer: in a training, it is one step of autograd."""
    biased = alike(type(layer).forward, MPNetLayer.forward)
    given = [bias for bias in (position_bias, attention_mask) if bias is not None]
    # Without a mask of the tokens, states of every layer may be asked for.
    mask = _mask.get()
    if mask is None or not can(parts, hidden_states):
        inputs = (attention_mask, position_bias) if biased else (attention_mask,)
        return type(layer).forward(layer, hidden_states, *inputs, **named)
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        least = torch.finfo(hidden_states.dtype).min
        given[-1] = hidden_states.new_zeros(attention_mask.shape).masked_fill_(~attention_mask, least)
    bias = sum(given[1:], given[0]) if given else None
    states = compute(parts, hidden_states, bias, _rows.get(), first and bool(mask[:, 0].all()))
    return (states,) if biased else states


def _attend_with_bias(
    part: Any,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    output_attentions: bool = False,
    **_: Any,
) -> tuple[Tensor]:
    """MPNet's attention, by the functions that other networks use."""
    shape = (*hidden_states.shape[:-1], -1, part.attention_head_size)
    query, key, value = (
        layer(hidden_states).view(shape).transpose(1, 2) for layer in (part.q, part.k, part.v)
    )
    given = [bias for bias in (position_bias, attention_mask) if bias is not None]
    output, _weights = unpadded(
        attention,
        part,
        query,
        key,
        value,
        sum(given[1:], given[0]) if given else None,
        dropout=part.dropout.p if part.training else 0.0,
        scaling=part.attention_head_size**-0.5,
        is_causal=False,
    )
    return (part.o(output.flatten(2)),)


def _position_bias(usual: Forward, states: Tensor, **named: Any) -> Any:
    """MPNet's bias of positions, for padded rows; the same for all rows."""
    length = states.shape[1] if (rows := _rows.get()) is None else rows.shape[1]
    return usual(states[:1, :1].expand(1, length, -1), **named)


class _Pad(torch.autograd.Function):
    """Tokens (S, H) to places (N * T, H). The gradient of padding must be zero: attention masks it."""

    @staticmethod
    def forward(ctx: Any, tokens_SH: Tensor, real: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(real)
        return tokens_SH.index_select(0, place)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (real,) = ctx.saved_tensors
        return gradients[0].index_select(0, real), None, None


class _Unpad(torch.autograd.Function):
    """Places (N * T, H) to tokens (S, H)."""

    @staticmethod
    def forward(ctx: Any, places_NH: Tensor, real: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(real, place)
        return places_NH.index_select(0, real)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        real, place = ctx.saved_tensors
        whole = gradients[0].new_zeros(len(place), gradients[0].shape[1])
        return whole.index_copy_(0, real, gradients[0]), None, None


OURS = (_read_rows, _read_tokens, _read_layer, _attend_with_bias, _position_bias)
