"""Which code computes a network's attention."""

import importlib.util
from typing import Any

import torch
from transformers import PreTrainedModel

from figlang.errors import FiglangError, one_line

# The names of transformers, where they differ from those of `model.attention`.
NAMES = {"flex": "flex_attention"}
# These have no gradient, or no code at all, on a CPU.
ON_A_GPU = ("flash_attention_2", "flex")


def choose(network: PreTrainedModel, wanted: str) -> PreTrainedModel:
    """Let a network compute its attention as `model.attention` says, in place.

    Args:
        network: The network.
        wanted: A value of `model.attention`.

    Returns:
        The network.

    Raises:
        FiglangError: If the machine or the network does not have this code.
    """
    if wanted == "auto":
        return network
    if wanted in ON_A_GPU and not torch.cuda.is_available():
        raise FiglangError(f"model.attention={wanted} needs a GPU; take sdpa or eager, or leave it out")
    if wanted == "flash_attention_2" and importlib.util.find_spec("flash_attn") is None:
        raise FiglangError(
            "model.attention=flash_attention_2 needs flash-attn, which is not installed; take sdpa, or "
            "`pip install flash-attn`"
        )
    inside: Any = network
    try:
        inside.set_attn_implementation(NAMES.get(wanted, wanted))
    except (ValueError, ImportError) as error:
        raise FiglangError(
            f"model.attention={wanted} is not possible with {type(network).__name__} ({one_line(error)}); "
            "leave it out"
        ) from error
    inside.chosen_attention = wanted
    return network


def chosen(network: PreTrainedModel) -> str | None:
    """The code that `choose` let a network take; None if it was left to transformers."""
    return getattr(network, "chosen_attention", None)
