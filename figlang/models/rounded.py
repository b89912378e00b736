"""Adapters over 4 bits that begin with what rounding took from the weights.

LoftQ (Li et al. 2023, arXiv 2310.08659) alternates two steps: Q is W - s B A in 4 bits, and s B A is the
product of rank r nearest to W - Q, from its largest singular values. This is the first round, from B A = 0.
Then Q is the network as anyone loads it in 4 bits, so the adapters are exported for it as they are. Further
rounds would also change Q, and an export of adapters could not hold that.

Shape letters: O outputs, I inputs, R rank.
"""

import torch
from peft import PeftModel
from peft.tuners.lora import LoraLayer
from peft.utils.integrations import dequantize_bnb_weight
from torch import Tensor
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D


def begin(adapted: PeftModel, exact: PreTrainedModel) -> None:
    """Begin the adapters of layers in 4 bits by LoftQ. Others, which lost nothing, stay as they are.

    Call it before the network is used in an evaluation: bitsandbytes then gives the weights of some CPUs
    another layout, from which they cannot be read (see `layout.bear_gradients`).

    Args:
        adapted: The network with new adapters.
        exact: The same network as it was before it was rounded.
    """
    layers = dict(adapted.get_base_model().named_modules())
    for name, layer in layers.items():
        weight = getattr(layer.get_base_layer(), "weight", None) if isinstance(layer, LoraLayer) else None
        if not hasattr(weight, "quant_state"):
            continue
        (adapter,) = layer.active_adapters
        a, b = layer.lora_A[adapter].weight, layer.lora_B[adapter].weight
        rounded_OI = dequantize_bnb_weight(weight).to(a.device, torch.float32)
        whole = exact.get_submodule(name)
        exact_OI = whole.weight.T if isinstance(whole, Conv1D) else whole.weight
        exact_OI = exact_OI.to(a.device, torch.float32)
        b_OR, a_RI = nearest(exact_OI - rounded_OI, a.shape[0])
        share = layer.scaling[adapter] ** -0.5
        a.data.copy_(a_RI * share)
        b.data.copy_(b_OR * share)


def nearest(matrix_OI: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Two matrices of equal norms, (O, R) and (R, I), whose product is the nearest one of this rank.

    It is the projection onto the singular vectors with the largest values. They are found on the smaller
    side, which takes a third of the time of all singular vectors.
    """
    if matrix_OI.shape[0] > matrix_OI.shape[1]:
        left, right = nearest(matrix_OI.T, rank)
        return right.T, left.T
    vectors_OO = torch.linalg.eigh(matrix_OI @ matrix_OI.T).eigenvectors
    left_OR = vectors_OO[:, -rank:]
    right_RI = left_OR.T @ matrix_OI
    roots_R = right_RI.norm(dim=1).sqrt()
    return left_OR * roots_R, right_RI / roots_R.clamp_min(torch.finfo(roots_R.dtype).tiny)[:, None]
