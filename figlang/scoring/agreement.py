"""Whether another way of running a network gives the network's own logits, up to its rounding.

Shape letters: R places, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

STEP = 2.0**-8  # half a unit in the last place of bf16
TIMES = 6  # other roundings move most places up to 4 times as far as such a step in the embeddings, a wrong mask at least 10 times
MOST = 0.75  # a few places may hang on near ties


@dataclass(frozen=True)
class Reference:
    """A network's own log-probabilities (R, V), and how far its rounding moves each place (R,); None for a float32 network."""

    log_probs: Tensor
    moved: Tensor | None

    def at(self, places: Tensor) -> "Reference":
        """The reference of some places."""
        return Reference(self.log_probs[places], None if self.moved is None else self.moved[places])

    def differs(self, logits_RV: Tensor) -> str | None:
        """How log-probabilities differ, if by more than the network's own rounding."""
        error_RV = logits_RV.float().log_softmax(-1) - self.log_probs
        if self.moved is None:
            worst = float(error_RV.abs().max())
            agrees = worst <= 1e-3 * min(float(self.log_probs.std()), 1.0)
        else:
            error_R = _spread(error_RV)
            worst = float(error_R.max())
            agrees = float((error_R <= TIMES * self.moved).float().mean()) >= MOST
        return None if agrees else f"log-probabilities differ by {worst:.2g}"


def reference(network: PreTrainedModel, run: Callable[[], Tensor]) -> Reference:
    """The reference of the logits (R, V) that `run` has the network make. In few bits it is run twice, to see how it rounds."""
    log_probs_RV = run().float().log_softmax(-1)
    if network.dtype in (torch.float32, torch.float64) and not getattr(network, "is_quantized", False):
        return Reference(log_probs_RV, None)
    hook = network.get_input_embeddings().register_forward_hook(_nudge)
    try:
        return Reference(log_probs_RV, _spread(run().float().log_softmax(-1) - log_probs_RV))
    finally:
        hook.remove()


def _nudge(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    signs = torch.rand(output.shape, generator=torch.Generator().manual_seed(0)).sub_(0.5).sign_()
    return output * (1 + STEP * signs).to(output)


def _spread(error_RV: Tensor) -> Tensor:
    return error_RV.square().mean(-1).sqrt()
