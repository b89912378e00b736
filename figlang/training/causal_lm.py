"""Fine-tuning a causal model with the language-modelling loss on gold strings.

The method is that of Liu et al. (2022), §4.1 and §5.1.
"""

from typing import Any

from torch import Tensor, nn

from figlang.config import MethodConfig
from figlang.scoring.tree.branching import StringScorer
from figlang.training.base import ChoiceModule


class CausalLMModule(ChoiceModule):
    """Trains the network to predict every token of metaphor and gold answer.

    The loss is the mean over the tokens of a batch.
    """

    def __init__(
        self,
        network: nn.Module,
        method: MethodConfig,
        score: StringScorer,
        steps: int,
        seed: int,
        ratio: float = 1.0,
    ) -> None:
        super().__init__(network=network, method=method, score=score, steps=steps, seed=seed, ratio=ratio)
        self._strings = score

    def cases(self, batch: Any) -> int:
        return len(batch.tokens)

    def loss(self, batch: Any) -> dict[str, Tensor]:
        log_probs_S = self._strings.log_probs(self.network, batch)
        return {"loss": -log_probs_S.mean(), "cases": batch.tokens.new_tensor(len(log_probs_S))}
