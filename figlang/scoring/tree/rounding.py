"""Check that another way of running a network gives the same logits, apart from rounding.

Shape letters: R places, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

# The difference that is allowed in float32. It is five times the largest one that was seen where a place
# depended on near ties, and a tenth of the effect of a wrong mask.
EXACT = 1e-2
STEP = 2.0**-7  # one unit in the last place of bf16
# A step in the embeddings moves the log-probabilities by some length. Another rounding moves most places by
# up to twice this length, and a wrong mask by 20 times.
TIMES = 4
# In few bits, this share of places must agree. The others may depend on near ties, which any rounding moves
# far.
MOST = 0.75


@dataclass(frozen=True)
class Reference:
    """A network's own log-probabilities, and the differences that are allowed.

    Attributes:
        log_probs: (R, V), in nats.
        allowed: The largest difference at each place, (R,).
        share: Share of places that must agree.
    """

    log_probs: Tensor
    allowed: Tensor
    share: float

    def at(self, places: Tensor) -> "Reference":
        """The reference of some places."""
        return Reference(self.log_probs[places], self.allowed[places], self.share)

    def differs(self, logits_RV: Tensor) -> str | None:
        """How log-probabilities differ, if they differ by more than is allowed."""
        error_RV = logits_RV.float().log_softmax(-1) - self.log_probs
        error_R = error_RV.abs().amax(-1) if self.share == 1 else _size(error_RV)
        agrees = float((error_R <= self.allowed).float().mean()) >= self.share
        return None if agrees else f"log-probabilities differ by {float(error_R.max()):.2g}"


def reference(network: PreTrainedModel, run: Callable[[], Tensor]) -> Reference:
    """The reference of the logits (R, V) that `run` computes with the network.

    A network of few bits is run twice, to measure its rounding.
    """
    log_probs_RV = run().float().log_softmax(-1)
    if network.dtype in (torch.float32, torch.float64) and not getattr(network, "is_quantized", False):
        return Reference(log_probs_RV, EXACT * log_probs_RV.std().clamp(max=1).expand(len(log_probs_RV)), 1.0)
    hook = network.get_input_embeddings().register_forward_hook(_nudge)
    try:
        return Reference(log_probs_RV, TIMES * _size(run().float().log_softmax(-1) - log_probs_RV), MOST)
    finally:
        hook.remove()


def _nudge(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    signs = torch.rand(output.shape, generator=torch.Generator().manual_seed(0)).sub_(0.5).sign_()
    return (output.float() * (1 + STEP * signs.to(output.device))).to(output.dtype)


def _size(error_RV: Tensor) -> Tensor:
    return error_RV.square().mean(-1).sqrt()
