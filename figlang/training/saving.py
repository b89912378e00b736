"""Networks that keep less while they train: activations computed again, and fused layers."""

import logging
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from figlang.config import MethodConfig
from figlang.errors import FiglangError, one_line
from figlang.scoring.adapted import adapted

log = logging.getLogger("figlang")


def begin(network: nn.Module, method: MethodConfig) -> None:
    """Change a network for a training as `method.checkpointing` and `method.kernels` say, in place.

    Args:
        network: The network.
        method: The method, after `settled`.

    Raises:
        FiglangError: If the network or the machine cannot do that.
    """
    inside = _inside(network)
    if method.kernels == "liger":
        _fuse(inside)
    if method.checkpointing:
        check(inside, method)
        try:
            # The form without reentrance also works with dropout, and if the first layers are frozen.
            _named(inside, "enable")({"use_reentrant": False})
        except ValueError as error:
            raise _impossible(inside) from error


def settled(network: nn.Module, method: MethodConfig) -> MethodConfig:
    """Replace `method.checkpointing=null` by what the network can."""
    if method.checkpointing is not None:
        return method
    able = repeats(network)
    if not able:
        name = type(_inside(network)).__name__
        log.info("method.checkpointing=false: %s cannot compute its activations again", name)
    return replace(method, checkpointing=able)


def check(network: nn.Module, method: MethodConfig) -> None:
    """Check that a network can compute its activations again, if it is asked to.

    Raises:
        FiglangError: It cannot.
    """
    if method.checkpointing and not repeats(network):
        raise _impossible(_inside(network))


def _impossible(inside: nn.Module) -> FiglangError:
    return FiglangError(
        f"method.checkpointing=true is not possible with {type(inside).__name__}, which cannot compute its "
        "activations again; leave it out"
    )


def check_kernels(method: MethodConfig) -> None:
    """Check that the machine has what `method.kernels` needs.

    Raises:
        FiglangError: It does not.
    """
    if method.kernels != "liger":
        return
    if not torch.cuda.is_available():
        raise FiglangError("method.kernels=liger needs a GPU; leave it out")
    if find_spec("liger_kernel") is None:
        raise FiglangError(
            "method.kernels=liger needs the package liger_kernel; install it: pip install 'figlang[liger]'"
        )


def repeats(network: nn.Module) -> bool:
    """Whether a network can compute activations again."""
    return bool(getattr(_inside(network), "supports_gradient_checkpointing", False))


def end(network: nn.Module) -> None:
    """Keep all activations again."""
    inside = _inside(network)
    if any(getattr(module, "gradient_checkpointing", False) for module in inside.modules()):
        _named(inside, "disable")()


def _inside(network: nn.Module) -> Any:
    """The network without the adapters' wrapper."""
    inside: Any = network
    return inside.get_base_model() if adapted(network) else inside


def _named(network: Any, what: str) -> Any:
    """The method of a network that has two names: the new one, and that of earlier versions."""
    new = getattr(network, f"activation_checkpointing_{what}", None)
    return new or getattr(network, f"gradient_checkpointing_{what}")


def _fuse(network: nn.Module) -> None:
    """Put liger's layers (arXiv 2410.10989) in place of the network's."""
    try:
        from liger_kernel.transformers import _apply_liger_kernel_to_instance
    except ImportError as error:
        raise FiglangError(
            f"method.kernels=liger cannot load liger_kernel ({one_line(error)}); install it again, or leave "
            "it out"
        ) from error
    _apply_liger_kernel_to_instance(model=network)
