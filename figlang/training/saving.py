"""Networks that keep less while they train: activations computed again, and fused layers."""

from typing import Any

import torch
from torch import nn

from figlang.config import MethodConfig
from figlang.errors import FiglangError, one_line
from figlang.scoring.adapted import adapted


def begin(network: nn.Module, method: MethodConfig) -> None:
    """Change a network for a training as `method.checkpointing` and `method.kernels` say, in place.

    Raises:
        FiglangError: If the network or the machine cannot do that.
    """
    inside = _inside(network)
    if method.kernels == "liger":
        _fuse(inside)
    if method.checkpointing:
        try:
            # The form without reentrance also works with dropout, and if the first layers are frozen.
            _named(inside, "enable")({"use_reentrant": False})
        except ValueError as error:
            raise FiglangError(
                f"method.checkpointing=true is not possible with {type(inside).__name__} "
                f"({one_line(error)}); leave it out"
            ) from error


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
    if not torch.cuda.is_available():
        raise FiglangError("method.kernels=liger needs a GPU; leave it out")
    try:
        from liger_kernel.transformers import _apply_liger_kernel_to_instance
    except ImportError as error:
        raise FiglangError(
            f"method.kernels=liger needs liger-kernel ({one_line(error)}); `pip install figlang[liger]`"
        ) from error
    _apply_liger_kernel_to_instance(model=network)
