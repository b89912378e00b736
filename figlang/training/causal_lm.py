"""Fine-tuning a causal model with the language-modelling loss on the gold strings (Liu et al. 2022, §4.1 and
§5.1)."""

from typing import Any, cast

from torch import Tensor

from figlang.scoring.tree.branching import StringScorer
from figlang.training.base import ChoiceModule


class CausalLMModule(ChoiceModule):
    """Trains the network to predict every token of metaphor and gold answer: the mean over the tokens of a
    batch."""

    def loss(self, batch: Any) -> dict[str, Tensor]:
        log_probs_S = cast(StringScorer, self.score).log_probs(batch)
        return {"loss": -log_probs_S.mean(), "cases": batch.tokens.new_tensor(len(log_probs_S))}
