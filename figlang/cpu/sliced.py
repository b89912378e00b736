"""A linear layer with many outputs as several layers with few.

Their outputs stay in a CPU's caches for the next operation.
"""

import torch
from torch import Tensor, nn

from figlang.cpu.packed import PackedLinear
from figlang.cpu.parts import untouched

OUTPUTS = 8192  # 9 MB of weights in bf16 at a hidden size of 576; half or twice as many are equally fast


def sliced(layer: nn.Module) -> nn.ModuleList:
    """Split a layer into layers whose concatenated outputs are its output. Their weights are views of its
    weight. The result is the layer alone if it is not a plain linear layer on a CPU or has few outputs. The
    slices see changes within its weight, but not a new weight. So make them when they are needed.
    """
    if (
        not isinstance(layer, nn.Linear)
        or type(layer) not in (nn.Linear, PackedLinear)
        or not untouched(layer)
    ):
        return nn.ModuleList([layer])
    if (
        type(layer.weight) is not nn.Parameter
        or layer.weight.device.type != "cpu"
        or layer.out_features <= OUTPUTS
    ):
        return nn.ModuleList([layer])
    weights = torch.split(layer.weight.detach(), OUTPUTS)
    biases = [None] * len(weights) if layer.bias is None else torch.split(layer.bias.detach(), OUTPUTS)
    return nn.ModuleList(_linear(weight, bias) for weight, bias in zip(weights, biases, strict=True))


def _linear(weight_OI: Tensor, bias_O: Tensor | None) -> nn.Linear:
    layer = nn.Linear(weight_OI.shape[1], weight_OI.shape[0], bias_O is not None, device="meta")
    layer.weight = nn.Parameter(weight_OI, requires_grad=False)
    if bias_O is not None:
        layer.bias = nn.Parameter(bias_O, requires_grad=False)
    return layer
