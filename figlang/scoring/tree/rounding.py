"""Check that another way of running a network gives the same logits, apart from rounding.

Shape letters: R places, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

# The difference in float32 that most places must keep. It is a tenth of the effect of a wrong mask.
EXACT = 1e-2
# A place that depends on near ties may differ by this many times as much in float32. 1.4 times was seen.
FAR = 5
STEP = 2.0**-7  # one unit in the last place of bf16
# A step in the embeddings moves the log-probabilities by some length. Another rounding moves most places by
# up to twice this length, and a wrong mask by 20 times.
TIMES = 4
# This share of places must agree. The others may depend on near ties, which any rounding moves far.
MOST = 0.75


@dataclass(frozen=True)
class Reference:
    """A network's own log-probabilities, and the differences that are allowed.

    Attributes:
        log_probs: (R, V), in nats.
        allowed: The difference that most places must keep, (R,).
        exact: The network computes in float32 or float64. Then the largest difference of a place counts, in
            place of the root of the mean square, and no place may be off by more than `FAR` times `allowed`.
    """

    log_probs: Tensor
    allowed: Tensor
    exact: bool

    def at(self, places: Tensor) -> "Reference":
        """The reference of some places."""
        return Reference(self.log_probs[places], self.allowed[places], self.exact)

    def differs(self, logits_RV: Tensor) -> str | None:
        """How log-probabilities differ, if they differ by more than is allowed."""
        error_RV = logits_RV.float().log_softmax(-1) - self.log_probs
        error_R = error_RV.abs().amax(-1) if self.exact else _size(error_RV)
        agrees = float((error_R <= self.allowed).float().mean()) >= MOST
        far = self.exact and not bool((error_R <= FAR * self.allowed).all())
        return None if agrees and not far else f"log-probabilities differ by {float(error_R.max()):.2g}"


def reference(network: PreTrainedModel, run: Callable[[], Tensor]) -> Reference:
    """The reference of the logits (R, V) that `run` computes with the network.

    A network of few bits is run twice, to measure its rounding.
    """
    log_probs_RV = run().float().log_softmax(-1)
    if network.dtype in (torch.float32, torch.float64) and not getattr(network, "is_quantized", False):
        return Reference(
            log_probs_RV, EXACT * log_probs_RV.std().clamp(max=1).expand(len(log_probs_RV)), True
        )
    hook = network.get_input_embeddings().register_forward_hook(_nudge)
    try:
        return Reference(log_probs_RV, TIMES * _size(run().float().log_softmax(-1) - log_probs_RV), False)
    finally:
        hook.remove()


def _nudge(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    signs = torch.rand(output.shape, generator=torch.Generator().manual_seed(0)).sub_(0.5).sign_()
    return (output.float() * (1 + STEP * signs.to(output.device))).to(output.dtype)


def _size(error_RV: Tensor) -> Tensor:
    return error_RV.square().mean(-1).sqrt()
