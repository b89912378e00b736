"""The weights below adapters: which they are, and by what they are recognised."""

import hashlib
from collections.abc import Iterable

import torch
from torch import nn


def within(name: str, modules: Iterable[str]) -> bool:
    """Whether a parameter or module belongs to one of these modules, with any prefix."""
    return any(f".{module}." in f".{name}." for module in modules)


def fingerprint(network: nn.Module, kept: Iterable[str]) -> str:
    """The sha256 of all weights outside the modules `kept`, in their own number format.

    Weights in few bits are left out, because they depend on the device that rounded them. Embeddings and
    norms stay.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(network.named_parameters()):
        if parameter.is_floating_point() and not within(name, kept):
            digest.update(name.encode())
            digest.update(parameter.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
