"""Exchange a network's parts for faster equals while it trains or predicts on a CPU."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import torch
from torch import nn
from transformers.activations import NewGELUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu import linear
from figlang.cpu.activation import FusedGelu
from figlang.cpu.adapted import adapt_as_before, adapt_faster
from figlang.cpu.attention import attention
from figlang.cpu.decoders import decode_as_before, decode_faster
from figlang.cpu.dropout import FastDropout
from figlang.cpu.feed_forward import fused
from figlang.cpu.packed import packed
from figlang.cpu.parts import exchange, exchanged
from figlang.cpu.rotary import rotating_in_place
from figlang.cpu.unpadded import repad, unpad, unpadded

FASTER_ATTENTION = partial(unpadded, attention)


def hasten(network: nn.Module) -> None:
    """Exchange parts that are faster on a CPU in training.

    Other parts stay, so this works for any network.
    """
    exchange(network, {nn.Dropout: FastDropout})
    if linear.pays():
        exchange(network, linear.FASTER)
    adapt_faster(network)
    unpad(network)
    decode_faster(network)
    ALL_ATTENTION_FUNCTIONS["sdpa"] = FASTER_ATTENTION


def release(network: nn.Module) -> None:
    """Undo `hasten`."""
    decode_as_before(network)
    repad(network)
    adapt_as_before(network)
    exchange(network, {FastDropout: nn.Dropout, **linear.PLAIN})
    if ALL_ATTENTION_FUNCTIONS["sdpa"] is FASTER_ATTENTION:
        del ALL_ATTENTION_FUNCTIONS["sdpa"]


@contextmanager
def hastened(network: nn.Module) -> Iterator[None]:
    """While the block runs, use faster parts with equal results if the network predicts on a CPU."""
    parameter = next(network.parameters(), None)
    if parameter is None or parameter.device.type != "cpu":
        yield
        return
    faster: dict[type[nn.Module], type[nn.Module]] = {NewGELUActivation: FusedGelu}
    exact = parameter.dtype == torch.float32
    if exact and linear.pays():
        faster.update(linear.FASTER)  # for layers that are too large to be packed
    # In bf16, the result would be rounded at other places.
    rotating = rotating_in_place(network) if exact else nullcontext()
    with packed(network), fused(network), rotating, exchanged(network.modules(), faster):
        yield
