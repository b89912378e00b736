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
from torch.nn.functional import linear

from figlang.cpu.dropout import FastDropout, drawn
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
            part.forward = partial(_adapted, part, _Rounded())  # type: ignore[method-assign]


def adapt_as_before(network: nn.Module) -> None:
    """Undo `adapt_faster`."""
    for part in network.modules():
        own = vars(part).get("forward")
        if isinstance(own, partial) and own.func is _adapted:
            del part.forward


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


class _Rounded:
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


def _adapted(part: Any, rounded: _Rounded, x: Tensor, *inputs: Any, **named: Any) -> Tensor:
    (name,) = part.active_adapters
    off = part.disable_adapters
    plain = bool(inputs or named) or part.merged or x.device.type != "cpu" or not x.numel()
    if plain or (off and x.requires_grad):
        return type(part).forward(part, x, *inputs, **named)  # type: ignore[no-any-return]
    down, up, drops = part.lora_A[name], part.lora_B[name], part.lora_dropout[name]
    p = drops.p if part.training and isinstance(drops, nn.Dropout) else 0.0
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
    weight, bias = rounded.of(part.base_layer, dtype)
    with torch.autocast("cpu", enabled=False):
        if off:  # the base alone, by the same product
            assert weight is not None, "linear layers have one"
            return _product(x.to(dtype), weight, bias, type(part.base_layer) is OneDnnLinear)
        result: Tensor = _Adapted.apply(  # type: ignore[no-untyped-call]
            x.to(dtype),
            weight,
            bias,
            down.weight.to(dtype),
            up.weight.to(dtype),
            part.scaling[name],
            p,
            type(part.base_layer) is OneDnnLinear,
        )
    return result


class _Adapted(torch.autograd.Function):
    """x W^T + b + s drop(x) A^T B^T, with gradients for x, A and B."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight_OI: Tensor,
        bias: Tensor | None,
        down_RI: Tensor,
        up_OR: Tensor,
        scale: float,
        p: float,
        by_onednn: bool,
    ) -> Tensor:
        x_NI = x.reshape(-1, x.shape[-1])
        mask_NI, kept = drawn(x_NI.shape, p, x.dtype) if p else (None, 1.0)
        dropped_NI = x_NI if mask_NI is None else x_NI * mask_NI
        ctx.scale, ctx.by_onednn = scale / kept if kept else 0.0, by_onednn
        low_NR = _product(dropped_NI, down_RI, None, by_onednn)
        output_NO = _product(x_NI, weight_OI, bias, by_onednn)
        output_NO.addmm_(low_NR, up_OR.t(), alpha=ctx.scale)
        ctx.save_for_backward(dropped_NI, low_NR, mask_NI, weight_OI, down_RI, up_OR)
        return output_NO.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        dropped_NI, low_NR, mask_NI, weight_OI, down_RI, up_OR = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        flat_NO = gradient.view(-1, gradient.shape[-1])
        low_gradient_NR = _product(flat_NO, up_OR.t(), None, ctx.by_onednn).mul_(ctx.scale)
        into_x = None
        if ctx.needs_input_grad[0]:
            through_NI = torch.mm(low_gradient_NR, down_RI)
            if mask_NI is not None:
                through_NI.mul_(mask_NI)
            whole_NI = _product(flat_NO, weight_OI.t(), None, ctx.by_onednn).add_(through_NI)
            into_x = whole_NI.view(*gradient.shape[:-1], -1)
        into_down = _product(low_gradient_NR.t(), dropped_NI.t(), None, ctx.by_onednn)
        # In this order the narrow one of the two is turned in memory.
        into_up = _product(low_NR.t(), flat_NO.t(), None, ctx.by_onednn).mul_(ctx.scale)
        return into_x, None, None, into_down, into_up.t(), None, None, None


def _product(input: Tensor, weight: Tensor, bias: Tensor | None, by_onednn: bool) -> Tensor:
    if by_onednn and input.dtype != torch.float64:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
        return product
    return linear(input, weight, bias)
