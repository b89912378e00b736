"""Linear layers with low-rank adapters (LoRA) for training on a CPU, as one step of autograd.

PEFT writes x W + s B A drop(x) as a dozen small operations, most of them passes over all activations: the
mask and its scale, the scale of the adapter, the sum, and the same again backward. Here the scales are
applied where the rank is the width, and the sums within a product. Under bf16 autocast the frozen weights are
rounded once and not in every step.

Shape letters: N tokens, I inputs, O outputs, R rank.
"""

import sys
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from figlang.cpu.dropout import FastDropout, clear, places
from figlang.cpu.linear import OneDnnLinear
from figlang.cpu.parts import untouched

LINEAR = (nn.Linear, OneDnnLinear)
EXACT = (torch.float32, torch.float64)


class Low(NamedTuple):
    """A linear layer with an adapter: x W^T + b + s drop(x) A^T B^T.

    Attributes:
        weight_OI, bias: W and b, which are frozen.
        down_RI, up_OR: A and B.
        scale: s.
        p: Probability of dropout.
        by_onednn: Whether products are oneDNN's.
    """

    weight_OI: Tensor
    bias: Tensor | None
    down_RI: Tensor
    up_OR: Tensor
    scale: float
    p: float
    by_onednn: bool


class Ahead(NamedTuple):
    """What gradients need of a layer's way ahead.

    Attributes:
        dropped_NI: drop(x), without its scale.
        low_NR: Its product with A^T.
        at: The places that are dropped.
    """

    dropped_NI: Tensor
    low_NR: Tensor
    at: Tensor | None


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
        if rounded_of(part) is not None:
            del part.forward


def rounded_of(part: nn.Module) -> "Rounded | None":
    """The weights that a layer keeps in other precisions, if `adapt_faster` has changed it."""
    own = vars(part).get("forward")
    return own.args[1] if isinstance(own, partial) and own.func is _adapted else None


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
    def forward(ctx: Any, x: Tensor, *layer: Any) -> Tensor:
        given = Low(*layer)
        output_NO, kept = ahead(given, x.reshape(-1, x.shape[-1]))
        ctx.settings = given[4:]
        ctx.save_for_backward(*given[:4], *kept)
        return output_NO.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        layer, kept = Low(*saved[:4], *ctx.settings), Ahead(*saved[4:])
        gradient = gradients[0].contiguous()
        flat_NO = gradient.view(-1, gradient.shape[-1])
        low_gradient_NR, into_down, into_up = back(layer, kept, flat_NO)
        into_x = None
        if ctx.needs_input_grad[0]:
            into_x = into_input(layer, kept, flat_NO, low_gradient_NR).view(*gradient.shape[:-1], -1)
        return into_x, None, None, into_down, into_up, None, None, None


def ahead(layer: Low, x_NI: Tensor) -> tuple[Tensor, Ahead]:
    """The output of a layer (N, O), and what its gradients need."""
    at = places(x_NI.numel(), layer.p) if layer.p else None
    dropped_NI = x_NI if at is None else clear(x_NI.clone(memory_format=torch.contiguous_format), at)
    low_NR = product(dropped_NI, layer.down_RI, None, layer.by_onednn)
    output_NO = product(x_NI, layer.weight_OI, layer.bias, layer.by_onednn)
    output_NO.addmm_(low_NR, layer.up_OR.t(), alpha=_scale(layer))
    return output_NO, Ahead(dropped_NI, low_NR, at)


def back(layer: Low, kept: Ahead, gradient_NO: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of an adapter: of drop(x) A^T (N, R), of A and of B."""
    by_onednn, scale = layer.by_onednn, _scale(layer)
    low_gradient_NR = product(gradient_NO, layer.up_OR.t(), None, by_onednn).mul_(scale)
    into_down = product(low_gradient_NR.t(), kept.dropped_NI.t(), None, by_onednn)
    # In this order the narrow one of the two is turned in memory.
    into_up = product(kept.low_NR.t(), gradient_NO.t(), None, by_onednn).mul_(scale)
    return low_gradient_NR, into_down, into_up.t()


def into_input(
    layer: Low, kept: Ahead, gradient_NO: Tensor, low_gradient_NR: Tensor, onto: Tensor | None = None
) -> Tensor:
    """The gradient of a layer's input.

    Args:
        layer: The layer.
        kept: What is left of its way ahead.
        gradient_NO: The gradient of its output.
        low_gradient_NR: The first result of `back`.
        onto: A gradient (N, I) to which this one is added in place.

    Returns:
        The gradient, or the sum, (N, I).
    """
    through_NI = torch.mm(low_gradient_NR, layer.down_RI)
    if kept.at is not None:
        clear(through_NI, kept.at)
    if onto is None or layer.by_onednn or onto.dtype != gradient_NO.dtype:
        whole_NI = product(gradient_NO, layer.weight_OI.t(), None, layer.by_onednn).add_(through_NI)
        return whole_NI if onto is None else onto.add_(whole_NI)
    return onto.addmm_(gradient_NO, layer.weight_OI).add_(through_NI)


def _scale(layer: Low) -> float:
    """The adapter's scale, with that of dropout."""
    return layer.scale / (1 - layer.p) if layer.p < 1 else 0.0


def product(input: Tensor, weight: Tensor, bias: Tensor | None, by_onednn: bool) -> Tensor:
    """input weight^T + bias.

    Args:
        input: (N, I).
        weight: (O, I).
        bias: (O,).
        by_onednn: Take oneDNN's product in place of torch's usual one.

    Returns:
        (N, O).
    """
    if by_onednn and input.dtype != torch.float64:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
        return result
    return linear(input, weight, bias)
