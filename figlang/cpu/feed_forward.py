"""The feed-forward part of a layer, its activation computed within the products: it takes no way through
memory of its own.

The last layer's has to compute only the tokens whose states are asked for: after it, no token looks at
another.
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

# Activations and what oneDNN calls them.
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
    """Within, feed-forward parts of packed layers that are written as those of GPT-2 or Llama, as most
    families' are, are fused.

    If every layer has one, the last of them heeds `asked`.
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
    """Within, in this thread, the states of a single sequence of so many tokens (T,) need be right only where
    this is true."""
    token = _asked.set(None if tokens.all() else tokens)
    try:
        yield
    finally:
        _asked.reset(token)


def _of_asked(forward: Callable[..., Tensor], hidden_states: Tensor) -> Tensor:
    tokens = _asked.get()
    if tokens is None or hidden_states.shape[:-1] != (1, len(tokens)):
        return forward(hidden_states)
    found = forward(hidden_states[:, tokens])
    output = found.new_zeros(*hidden_states.shape[:-1], found.shape[-1])
    output[:, tokens] = found
    return output


def _plain(part: Any, activation: str, kind: str, hidden_states: Tensor) -> Tensor:
    output: Tensor = part.dropout(part.c_proj(product(part.c_fc, hidden_states, activation, kind)))
    return output


def _gated(part: Any, activation: str, kind: str, x: Tensor) -> Tensor:
    output: Tensor = part.down_proj(
        product(part.up_proj, x, times=product(part.gate_proj, x, activation, kind))
    )
    return output


# Parts that others have copied, with their activation and the layers it is computed in.
FUSED = (
    (_plain, GPT2MLP, ("act", "c_fc")),
    (_gated, LlamaMLP, ("act_fn", "gate_proj", "up_proj")),
)
