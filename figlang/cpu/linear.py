"""Float32 matrix products by oneDNN, on processors where MKL uses half of the vector width."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D


def pays() -> bool:
    """Whether oneDNN is faster: MKL, torch's default, uses AVX-512 only on Intel's processors.

    The processor decides, not a measured time, so that a run repeats to the bit.
    """
    capabilities = torch.cpu.get_capabilities()
    wide = bool(capabilities.get("avx512_f")) and "AMD" in str(capabilities.get("cpu_name"))
    return wide and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def in_bf16() -> bool:
    """Whether the processor has instructions for products of bf16 numbers."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))


class OneDnnLinear(nn.Linear):
    """nn.Linear with float32 products by oneDNN. bf16 autocast uses oneDNN anyway and is not changed.

    An instance is made by setting the `__class__` of an nn.Linear. The class has no state of its own.
    """

    def forward(self, input: Tensor) -> Tensor:
        if _usual(input, self.weight):
            return super().forward(input)
        return _Product.apply(input, self.weight, self.bias)  # type: ignore[no-any-return, no-untyped-call]


class OneDnnConv1D(Conv1D):  # type: ignore[misc]
    """The linear layer of GPT-2, whose weight is stored transposed (see OneDnnLinear)."""

    def forward(self, x: Tensor) -> Tensor:
        if _usual(x, self.weight):
            return super().forward(x)  # type: ignore[no-any-return]
        return _Product.apply(x, self.weight.t(), self.bias)  # type: ignore[no-any-return, no-untyped-call]


FASTER: Mapping[type[nn.Module], type[nn.Module]] = {nn.Linear: OneDnnLinear, Conv1D: OneDnnConv1D}
PLAIN = {faster: plain for plain, faster in FASTER.items()}


def _usual(input: Tensor, weight: Tensor) -> bool:
    """Whether a product is left to torch: under autocast, in other precisions, and of no numbers."""
    exact = input.dtype == weight.dtype == torch.float32
    return torch.is_autocast_enabled("cpu") or not exact or not input.numel()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(input, weight)
        return _linear(input, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        input, weight = ctx.saved_tensors
        into_input, into_weight, into_bias = ctx.needs_input_grad
        gradient = gradients[0].contiguous()
        flat_NO, flat_NI = gradient.reshape(-1, gradient.shape[-1]), input.reshape(-1, input.shape[-1])
        return (
            _linear(gradient, weight.t(), None) if into_input else None,
            _linear(flat_NO.t(), flat_NI.t(), None) if into_weight else None,
            flat_NO.sum(0) if into_bias else None,
        )


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product
