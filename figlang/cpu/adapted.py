"""Linear layers with low-rank adapters (LoRA) for training on a CPU, as one step of autograd.

PEFT writes x W + s B A drop(x) as a dozen small operations, most of them passes over all activations: the
mask and its scale, the scale of the adapter, the sum, and the same again backward. Here the scales are
applied where the rank is the width, and the sums within a product. Under bf16 autocast the frozen weights are
rounded once and not in every step.

Shape letters: N tokens, I inputs, O outputs, R rank.
"""

import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from figlang.cpu.dropout import FastDropout, places
from figlang.cpu.layers import Linear, Low, Plain, product
from figlang.cpu.linear import OneDnnLinear
from figlang.cpu.parts import untouched

LINEAR = (nn.Linear, OneDnnLinear)
EXACT = (torch.float32, torch.float64)


def adapt_faster(network: nn.Module) -> None:
    """Let layers with one plain adapter over frozen weights compute in one step. Others stay as they are."""
    # PEFT takes a second to import. A network with its layers has imported it.
    if (layers := sys.modules.get("peft.tuners.lora.layer")) is None:
        return
    for part in network.modules():
        if type(part) is layers.Linear and untouched(part) and _plain(part):
            part.forward = partial(_adapted, part, Rounded())  # type: ignore[method-assign]


def adapt_as_before(network: nn.Module) -> None:
    """Undo `adapt_faster`."""
    for part in network.modules():
        if _rounded_of(part) is not None:
            del part.forward


def _rounded_of(part: nn.Module) -> "Rounded | None":
    """The weights that a layer keeps in other precisions, if `adapt_faster` has changed it."""
    own = vars(part).get("forward")
    return own.args[1] if isinstance(own, partial) and own.func is _adapted else None


def weights_of(part: Any) -> "Rounded | None":
    """Where a linear layer keeps its frozen weights in other precisions; None for parts that `linear_of` does
    not take.

    It has one adapter, and `adapt_faster` has changed it; or all its weights are trained, or none.
    """
    if (own := _rounded_of(part)) is not None:
        return own
    if type(part) not in LINEAR or not untouched(part) or not exact(part):
        return None
    return Rounded() if len({weight.requires_grad for weight in part.parameters()}) == 1 else None


def exact(part: nn.Module) -> bool:
    """Whether the weights of a part are plain tensors of float32 or float64."""
    return all(type(weight.data) is Tensor and weight.dtype in EXACT for weight in part.parameters())


def off(part: Any) -> bool:
    """Whether a linear layer with adapters computes without its one adapter now."""
    return type(part) not in LINEAR and (
        part.merged or part.disable_adapters or len(part.active_adapters) != 1
    )


def linear_of(part: Any, rounded: "Rounded", dtype: torch.dtype) -> Linear:
    """A linear layer as it computes now.

    Args:
        part: The layer, for which `weights_of` has a result.
        rounded: This result.
        dtype: The precision of its products.
    """
    if type(part) not in LINEAR:
        return low(part, rounded, dtype)
    weight, bias, learns = part.weight, part.bias, part.weight.requires_grad
    if learns:
        weight, bias = weight.to(dtype), None if bias is None else bias.to(dtype)
    else:
        weight, bias = rounded.of(part, dtype)
    assert weight is not None, "linear layers have one"
    return Plain(weight, bias, type(part) is OneDnnLinear, learns)


def _plain(part: Any) -> bool:
    """Whether a layer is a frozen linear layer with a single LoRA adapter without variants."""
    if part.merged or part.disable_adapters or part.lora_variant or len(part.active_adapters) != 1:
        return False
    (name,) = part.active_adapters
    layers = [part.base_layer, *(adapters[name] for adapters in (part.lora_A, part.lora_B))]
    drops = part.lora_dropout[name]
    return (
        all(type(layer) in LINEAR and untouched(layer) for layer in layers)
        and all(type(layer.weight.data) is Tensor and layer.weight.dtype in EXACT for layer in layers)
        and all(layer.bias is None for layer in layers[1:])
        and not any(parameter.requires_grad for parameter in part.base_layer.parameters())
        and (isinstance(drops, nn.Identity) or type(drops) in (nn.Dropout, FastDropout))
        and untouched(drops)
    )


class Rounded:
    """The frozen weights of a layer in another precision, made when they are first needed."""

    def __init__(self) -> None:
        self._made: dict[torch.dtype, tuple[tuple[int, int], list[Tensor | None]]] = {}

    def of(self, layer: nn.Linear, dtype: torch.dtype) -> list[Tensor | None]:
        if layer.weight.dtype == dtype:
            return [layer.weight, layer.bias]
        state = (layer.weight.data_ptr(), layer.weight._version)
        if dtype not in self._made or self._made[dtype][0] != state:
            given: tuple[Tensor | None, ...] = (layer.weight, layer.bias)
            parts = [None if each is None else each.detach().to(dtype) for each in given]
            self._made[dtype] = (state, parts)
        return self._made[dtype][1]


def low(part: Any, rounded: Rounded, dtype: torch.dtype) -> Low:
    """The layer as it computes now, in the precision of its products."""
    (name,) = part.active_adapters
    drops = part.lora_dropout[name]
    weight, bias = rounded.of(part.base_layer, dtype)
    assert weight is not None, "linear layers have one"
    return Low(
        weight,
        bias,
        part.lora_A[name].weight.to(dtype),
        part.lora_B[name].weight.to(dtype),
        part.scaling[name],
        drops.p if part.training and isinstance(drops, nn.Dropout) else 0.0,
        type(part.base_layer) is OneDnnLinear,
    )


def _adapted(part: Any, rounded: Rounded, x: Tensor, *inputs: Any, **named: Any) -> Tensor:
    off = part.disable_adapters
    plain = bool(inputs or named) or part.merged or x.device.type != "cpu" or not x.numel()
    if plain or (off and x.requires_grad):
        return type(part).forward(part, x, *inputs, **named)  # type: ignore[no-any-return]
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
    with torch.autocast("cpu", enabled=False):
        layer = low(part, rounded, dtype)
        if off:  # the base alone, by the same product
            return product(x.to(dtype), layer.weight_OI, layer.bias, layer.by_onednn)
        result: Tensor = _Adapted.apply(x.to(dtype), *layer)  # type: ignore[no-untyped-call]
    return result


class _Adapted(torch.autograd.Function):
    """The output of a layer, with gradients for x, A and B."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *given: Any) -> Tensor:
        layer = Low(*given)
        at = places(x.numel(), layer.p) if layer.p else None
        output_NO, kept = layer.ahead(x.reshape(-1, x.shape[-1]), at)
        ctx.settings = given[4:]
        ctx.save_for_backward(*given[:4], *kept)
        return output_NO.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        layer, kept = Low(*saved[:4], *ctx.settings), saved[4:]
        gradient = gradients[0].contiguous()
        flat_NO = gradient.view(-1, gradient.shape[-1])
        low_gradient_NR, into_down, into_up = layer.back(kept, flat_NO)
        into_x = None
        if ctx.needs_input_grad[0]:
            into_x = layer.into_input(kept, flat_NO, low_gradient_NR).view(*gradient.shape[:-1], -1)
        return into_x, None, None, into_down, into_up, None, None, None
