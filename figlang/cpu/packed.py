"""Products of a network that predicts, by oneDNN, with weights that are laid out once.

By default, oneDNN lays the weights out again in every product.

Shape letters: I inputs, O outputs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from figlang.cpu.linear import in_bf16, pays
from figlang.cpu.parts import Kinds, exchanged, untouched
from figlang.cpu.side_by_side import side_by_side

ROWS = 1024  # rows of the products for which weights are laid out
FEW = 128  # with fewer rows, the weights as they are give faster products
LARGEST = 2**31  # bytes of weights; larger ones do not get a second copy
_laying_out = Lock()


def product(
    layer: Any, input: Tensor, then: str = "none", kind: str = "", times: Tensor | None = None
) -> Tensor:
    """Outputs of a packed layer.

    Args:
        layer: The layer.
        input: Inputs (..., I) of any precision.
        then: An activation of oneDNN that is applied before the outputs are rounded.
        kind: A variant of this activation.
        times: Factors (..., O) that are applied instead of an activation.

    Returns:
        (..., O), in the precision of the layer's weight.
    """
    if not input.numel():
        return input.new_empty(*input.shape[:-1], layer.out_features, dtype=layer.weight.dtype)
    weight_OI = _laid_out(layer) if input.numel() >= FEW * input.shape[-1] else _weight(layer)
    input = input.to(layer.weight.dtype)
    output: Tensor
    if times is None:
        output = torch.ops.mkldnn._linear_pointwise(input, weight_OI, layer.bias, then, [], kind)
    else:
        output = torch.ops.mkldnn._linear_pointwise.binary(input, times, weight_OI, layer.bias, "mul")
    return output


def lay_out(network: nn.Module) -> None:
    """Pack a network's layers now, before several threads use them.

    There is one layer for each thread, because packing a layer keeps only one thread busy.
    """
    layers: list[Any] = [
        part for part in network.modules() if type(part) in KINDS.values() and part.packed is None
    ]
    waiting = iter(sorted(layers, key=lambda layer: -layer.weight.numel()))

    def pack_waiting() -> Iterator[None]:
        for layer in waiting:
            _pack(layer)
            yield

    side_by_side([pack_waiting() for _ in range(torch.get_num_threads())])


def _laid_out(layer: Any) -> Tensor:
    with _laying_out:
        if layer.packed is None:
            _pack(layer)
    packed: Tensor = layer.packed
    return packed


def _pack(layer: Any) -> None:
    layer.packed = torch.ops.mkldnn._reorder_linear_weight(_weight(layer).detach(), ROWS)


def _weight(layer: Any) -> Tensor:
    weight_OI: Tensor = layer.weight if isinstance(layer, nn.Linear) else layer.weight.t()
    return weight_OI


class PackedLinear(nn.Linear):
    """nn.Linear that keeps its weight `packed` too, once it has seen many rows. It exists within `packed`."""

    packed: Tensor | None = None

    def forward(self, input: Tensor) -> Tensor:
        return product(self, input)


class PackedConv1D(Conv1D):  # type: ignore[misc]
    """The linear layer of GPT-2, whose weight is stored transposed (see PackedLinear)."""

    packed: Tensor | None = None

    @property
    def out_features(self) -> int:
        return int(self.nf)

    def forward(self, x: Tensor) -> Tensor:
        return product(self, x)


KINDS: Kinds = {nn.Linear: PackedLinear, Conv1D: PackedConv1D}


@contextmanager
def packed(network: nn.Module) -> Iterator[None]:
    """While the block runs, pack each linear layer when it first reads many rows.

    A layer is packed if that is faster than torch's own way and if the weights are not too large. A network
    that learns is not changed, because its weights change.
    """
    layers: list[Any] = [
        part for part in network.modules() if type(part) in KINDS and untouched(part) and faster(part.weight)
    ]
    if (
        torch.is_grad_enabled()
        or torch.is_autocast_enabled("cpu")
        or sum(layer.weight.nbytes for layer in layers) > LARGEST
    ):
        layers = []
    try:
        with exchanged(layers, KINDS):
            yield
    finally:
        for layer in layers:
            vars(layer).pop("packed", None)


def faster(weight: Any) -> bool:
    """Whether products with a packed copy of this weight are faster.

    In bf16 they are on processors that compute in bf16, in float32 on those where oneDNN pays.
    """
    if (
        type(weight) is not nn.Parameter
        or weight.device.type != "cpu"
        or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    ):
        return False
    return (weight.dtype == torch.bfloat16 and in_bf16()) or (weight.dtype == torch.float32 and pays())
