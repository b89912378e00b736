"""The faster parts of a network while it trains on a CPU."""

from torch import nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu import linear
from figlang.cpu.attention import attention
from figlang.cpu.dropout import FastDropout


def hasten(network: nn.Module) -> None:
    """Exchange parts that have a faster equal on a CPU; parts of other classes stay as they are, so any network will do."""
    linear.exchange(network, {nn.Dropout: FastDropout})
    if linear.pays():
        linear.exchange(network, linear.FASTER)
    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention


def release(network: nn.Module) -> None:
    """Undo `hasten`."""
    linear.exchange(network, {FastDropout: nn.Dropout, **linear.PLAIN})
    if ALL_ATTENTION_FUNCTIONS["sdpa"] is attention:
        del ALL_ATTENTION_FUNCTIONS["sdpa"]
