"""The faster parts of a network while it trains on a CPU, or predicts."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from transformers.activations import NewGELUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu import linear
from figlang.cpu.activation import FusedGelu
from figlang.cpu.attention import attention
from figlang.cpu.dropout import FastDropout
from figlang.cpu.feed_forward import fused
from figlang.cpu.packed import packed
from figlang.cpu.parts import exchange, exchanged


def hasten(network: nn.Module) -> None:
    """Exchange parts that have a faster equal on a CPU in training; others stay as they are, so any network will do."""
    exchange(network, {nn.Dropout: FastDropout})
    if linear.pays():
        exchange(network, linear.FASTER)
    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention


def release(network: nn.Module) -> None:
    """Undo `hasten`."""
    exchange(network, {FastDropout: nn.Dropout, **linear.PLAIN})
    if ALL_ATTENTION_FUNCTIONS["sdpa"] is attention:
        del ALL_ATTENTION_FUNCTIONS["sdpa"]


@contextmanager
def hastened(network: nn.Module) -> Iterator[None]:
    """Within, parts of a network that predicts on a CPU are exchanged for faster equals."""
    parameter = next(network.parameters())
    faster: dict[type[nn.Module], type[nn.Module]] = {}
    if parameter.device.type == "cpu":
        faster[NewGELUActivation] = FusedGelu
        if parameter.dtype == torch.float32 and linear.pays():
            faster.update(linear.FASTER)  # of what is too large to be packed
    with packed(network), fused(network), exchanged(network.modules(), faster):
        yield
