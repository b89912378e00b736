"""Cross-entropy over the scores of an item's options (Liu et al. 2022, §4.2), or over the classes of NLI.

The paper trains encoders so. For causal models, whose options are scored by their log-probabilities, the
paper leaves it to future work (§6.1).
"""

from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy

from figlang.training.base import ChoiceModule


class CrossEntropyModule(ChoiceModule):
    """Trains the network so that the gold option, or the gold class, scores highest."""

    def loss(self, batch: Any) -> dict[str, Tensor]:
        scores_BC = self.score(self.network, batch)
        loss = cross_entropy(scores_BC, batch.gold)
        correct = (scores_BC.detach().argmax(1) == batch.gold).sum()
        return {"loss": loss, "cases": correct.new_tensor(len(batch.gold)), "correct": correct}
