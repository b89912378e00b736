"""The feed-forward part of a layer, its activation computed within the products: it takes no way through memory of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def fused(network: nn.Module) -> Iterator[None]:
    """Within, feed-forward parts of packed layers that are written as those of GPT-2 or Llama, as most families' are, are fused."""
    forwards = []
    for part in network.modules():
        for forward, like, names in FUSED:
            if not alike(type(part).forward, like.forward) or not untouched(part):
                continue
            activation, *layers = parts = [getattr(part, name) for name in names]
            if type(activation) in NAMES and all(type(layer) in KINDS.values() for layer in layers) and all(map(untouched, parts)):
                forwards.append((part, partial(forward, part, *NAMES[type(activation)])))
    with computing(forwards):
        yield


def _plain(part: Any, activation: str, kind: str, hidden_states: Tensor) -> Tensor:
    output: Tensor = part.dropout(part.c_proj(product(part.c_fc, hidden_states, activation, kind)))
    return output


def _gated(part: Any, activation: str, kind: str, x: Tensor) -> Tensor:
    output: Tensor = part.down_proj(product(part.up_proj, x, times=product(part.gate_proj, x, activation, kind)))
    return output


# Parts that others have copied, with their activation and the layers it is computed in.
FUSED = (
    (_plain, GPT2MLP, ("act", "c_fc")),
    (_gated, LlamaMLP, ("act_fn", "gate_proj", "up_proj")),
)
