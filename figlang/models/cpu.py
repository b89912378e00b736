"""The faster parts of a network while it trains on a CPU."""

from torch import nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.models import linear
from figlang.models.attention import attention
from figlang.models.dropout import FastDropout
from figlang.models.linear import OneDnnLinear


def hasten(network: nn.Module) -> None:
    """Exchange parts that have a faster equal on a CPU; parts of other classes stay as they are, so any network will do."""
    _exchange(network, nn.Dropout, FastDropout)
    if linear.pays():
        _exchange(network, nn.Linear, OneDnnLinear)
    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention


def release(network: nn.Module) -> None:
    """Undo `hasten`."""
    _exchange(network, FastDropout, nn.Dropout)
    _exchange(network, OneDnnLinear, nn.Linear)
    if ALL_ATTENTION_FUNCTIONS["sdpa"] is attention:
        del ALL_ATTENTION_FUNCTIONS["sdpa"]


def _exchange(network: nn.Module, old: type[nn.Module], new: type[nn.Module]) -> None:
    for module in network.modules():
        if type(module) is old:
            module.__class__ = new
