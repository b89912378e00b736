"""The feed-forward part of a layer, with its activation computed within the products.

The activation then needs no pass through memory of its own. In the last layer, only the tokens whose states
are needed are computed: no token looks at another one after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers.activations import GELUActivation, GELUTanh, NewGELUActivation, SiLUActivation
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP
from transformers.models.llama.modeling_llama import LlamaMLP

from figlang.cpu.alike import alike
from figlang.cpu.packed import KINDS, product
from figlang.cpu.parts import computing, untouched

# Activations and their names in oneDNN.
NAMES = {
    SiLUActivation: ("swish", ""),
    nn.SiLU: ("swish", ""),
    GELUActivation: ("gelu", "none"),
    GELUTanh: ("gelu", "tanh"),
    NewGELUActivation: ("gelu", "tanh"),
}
_asked: ContextVar[Tensor | None] = ContextVar("asked", default=None)


@contextmanager
def fused(network: nn.Module) -> Iterator[None]:
    """While the block runs, fuse the feed-forward parts that have the code of GPT-2 or Llama.

    Their layers must be packed. If every layer has such a part, the last one computes only the tokens of
    `asked`.
    """
    forwards: list[tuple[nn.Module, Callable[..., Tensor]]] = []
    for part in network.modules():
        for forward, like, names in FUSED:
            if not alike(type(part).forward, like.forward) or not untouched(part):
                continue
            activation, *layers = parts = [getattr(part, name) for name in names]
            if (
                type(activation) in NAMES
                and all(type(layer) in KINDS.values() for layer in layers)
                and all(map(untouched, parts))
            ):
                forwards.append((part, partial(forward, part, *NAMES[type(activation)])))
    if forwards and len(forwards) == getattr(getattr(network, "config", None), "num_hidden_layers", None):
        last, forward = forwards[-1]
        forwards[-1] = (last, partial(_of_asked, forward))
    with computing(forwards):
        yield


@contextmanager
def asked(tokens: Tensor) -> Iterator[None]:
    """While the block runs, allow wrong states in this thread at all but some tokens.

    Args:
        tokens: True at these tokens of a single sequence, (T,). For other shapes, everything is computed.
    """
    token = _asked.set(None if tokens.all() else tokens)
    try:
        yield
    finally:
        _asked.reset(token)


def _of_asked(forward: Callable[..., Tensor], hidden_states: Tensor) -> Tensor:
    tokens = _asked.get()
    if tokens is None or hidden_states.shape[:-1] != (1, len(tokens)):
        return forward(hidden_states)
    states = forward(hidden_states[:, tokens])
    output = states.new_zeros(*hidden_states.shape[:-1], states.shape[-1])
    output[:, tokens] = states
    return output


def _plain(part: Any, activation: str, kind: str, hidden_states: Tensor) -> Tensor:
    output: Tensor = part.dropout(part.c_proj(product(part.c_fc, hidden_states, activation, kind)))
    return output


def _gated(part: Any, activation: str, kind: str, x: Tensor) -> Tensor:
    output: Tensor = part.down_proj(
        product(part.up_proj, x, times=product(part.gate_proj, x, activation, kind))
    )
    return output


# The parts that other families have copied, with their activation and the layers whose products include it.
FUSED = (
    (_plain, GPT2MLP, ("act", "c_fc")),
    (_gated, LlamaMLP, ("act_fn", "gate_proj", "up_proj")),
)
