"""Contrastive training of causal models that keeps the right answers likely.

Contrastive training can win its margin by making both answers less likely, which preference training knows as
likelihood displacement (Pal et al. 2024, arXiv 2402.13228, §3; Razin et al. 2024, arXiv 2410.08847, §1). An
anchor is a second term of the loss that is about the right answers alone.

Shape letters: S scored tokens, B choices, C options.
"""

from collections.abc import Callable, Mapping

from torch import Tensor

from figlang.scoring.tree.branching import StringBatch, StringScorer
from figlang.training.cross_entropy import CrossEntropyModule


def likely(means_B: Tensor, _: Tensor | None) -> Tensor:
    """The language-model loss of the right answers per token, as in RPO (Pang et al. 2024, arXiv 2404.19733,
    equation 1).

    Args:
        means_B: Log-probability per token of each right answer, (B,).
    """
    return -means_B.mean()


def not_below(means_B: Tensor, reference_B: Tensor | None) -> Tensor:
    """How far the log-probability per token of right answers is below that before the training, as in DPOP
    (Pal et al. 2024, arXiv 2402.13228, equation 3).

    Args:
        means_B: Log-probability per token of each right answer, (B,).
        reference_B: What each had before the training.
    """
    assert reference_B is not None, "the examples have the numbers from before the training"
    return (reference_B - means_B).clamp(min=0).mean()


ANCHORS: Mapping[str, Callable[[Tensor, Tensor | None], Tensor]] = {"lm": likely, "positive": not_below}


class AnchoredModule(CrossEntropyModule):
    """Trains by cross-entropy over the options and an anchor, whose weight is a setting.

    The loss by which an epoch is selected has no anchor, so that it can be compared between weights.
    """

    score: StringScorer

    def loss(self, batch: StringBatch) -> dict[str, Tensor]:
        log_probs_S = self.score.log_probs(self.network, batch)
        scores_BC = self.score.scores(log_probs_S, batch)
        loss = self.chosen(scores_BC, batch.gold, batch.teacher)
        if self.training and (batch.gold >= 0).any():
            known = batch.gold >= 0
            means_BC = self.score.means(log_probs_S, batch)[known]
            gold_B = means_BC.gather(1, batch.gold[known][:, None])[:, 0]
            reference_B = None if batch.reference is None else batch.reference[known]
            loss = loss + self.method.anchor_weight * ANCHORS[self.method.anchor](gold_B, reference_B)
        return self.counted(scores_BC, batch.gold, loss)
