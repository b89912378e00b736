"""Fine-tuning a causal model with the language-modelling loss on gold strings.

The method is that of Liu et al. (2022), §4.1 and §5.1.
"""

from typing import Any

from torch import Tensor

from figlang.scoring.tree.branching import StringScorer
from figlang.training.base import ChoiceModule


class CausalLMModule(ChoiceModule):
    """Trains the network to predict every token of metaphor and gold answer.

    The loss is the mean over the tokens of a batch.
    """

    score: StringScorer

    def cases(self, batch: Any) -> int:
        return len(batch.tokens)

    def loss(self, batch: Any) -> dict[str, Tensor]:
        log_probs_S = self.score.log_probs(self.network, batch)
        return {"loss": -log_probs_S.mean(), "cases": batch.tokens.new_tensor(len(log_probs_S))}
