"""Losses of dual encoders that compare texts across the items of a step.

A dual encoder makes one vector of each text, so the similarities of all contexts and all answers of a step
are one product of matrices. Two settings use it. `direction=both` also chooses the context of a pair for an
answer, beside the answer for a context. `negatives=batch` takes all answers of the step as wrong answers
(Henderson et al. 2017, arXiv 1705.00652) and, in both directions, all contexts.

Rows are distinct texts, since texts are shared (`method.share_texts`). A text never competes with itself. Nor
does an answer compete for a context that has it as the right answer in another item.

Shape letters: B items, C options, H hidden, K distinct contexts, U distinct answers; N askers and D
candidates of either kind.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot, pad

from figlang.errors import FiglangError
from figlang.scoring.encode import Batch
from figlang.scoring.head import Dual
from figlang.training.cross_entropy import CrossEntropyModule


@dataclass(frozen=True)
class Texts:
    """The distinct contexts and answers of a step.

    Attributes:
        contexts: The sequence of each distinct context, (K,).
        answers: The sequence of each distinct answer, right or wrong, (U,).
        context: Which context each item has, (B,).
        answer: Which answer is right for each item, (B,).
        alike: Whether two items have the same options, (B, B).
        true: Whether an answer is right for a context in any item, or is the same text, (K, U).
    """

    contexts: Tensor
    answers: Tensor
    context: Tensor
    answer: Tensor
    alike: Tensor
    true: Tensor

    @classmethod
    def of(cls, batch: Batch) -> "Texts":
        """The texts of a batch whose equal texts are one sequence."""
        assert batch.context_rows is not None, "the format is dual"
        contexts, context = torch.unique(batch.context_rows, return_inverse=True)
        answers = torch.unique(batch.option_rows[batch.option_rows >= 0])
        gold = batch.option_rows.gather(1, batch.gold[:, None])[:, 0]
        answer = torch.searchsorted(answers, gold)
        options_BC = batch.option_rows.sort(1).values
        alike_BB = (options_BC[:, None] == options_BC[None]).all(-1)
        true_KU = contexts[:, None] == answers[None]
        true_KU[context, answer] = True
        return cls(contexts, answers, context, answer, alike_BB, true_KU)


def backward(scores_KU: Tensor, texts: Texts) -> tuple[Tensor, Tensor]:
    """The choices of the context for a right answer, among those of items with the same options.

    An item is left out if no other context of the step can be wrong for its answer.

    Args:
        scores_KU: Scores of all answers for all contexts.
        texts: Which texts these are.

    Returns:
        Scores of the contexts, -inf for those that do not compete, (B', K); the right ones, (B',).
    """
    own_BK = one_hot(texts.context, len(texts.contexts)).bool()
    # A whole-number product of matrices is not there on every device.
    near_BK = (texts.alike.float() @ own_BK.float()) > 0
    competing_BK = near_BK & ~texts.true.T[texts.answer]
    scores_BK = scores_KU.T[texts.answer].masked_fill(~(competing_BK | own_BK), -torch.inf)
    chosen = competing_BK.any(1)
    return scores_BK[chosen], texts.context[chosen]


def ranking(scores_KU: Tensor, texts: Texts, both: bool) -> Tensor:
    """The mean cross-entropy of each item's right answer among the answers of the step.

    Args:
        scores_KU: Scores of all answers for all contexts.
        texts: Which texts these are.
        both: Whether the mean is also over each item's context among the contexts of the step.
    """
    losses = [_among(scores_KU, texts.true, texts.context, texts.answer)]
    if both:
        losses.append(_among(scores_KU.T, texts.true.T, texts.answer, texts.context))
    return torch.stack(losses).mean()


def _among(scores_ND: Tensor, true_ND: Tensor, asked_B: Tensor, gold_B: Tensor) -> Tensor:
    """The mean cross-entropy of rows in which candidates that are also right do not compete."""
    left_out_BD = true_ND[asked_B] & ~one_hot(gold_B, true_ND.shape[1]).bool()
    return cross_entropy(scores_ND[asked_B].masked_fill(left_out_BD, -torch.inf), gold_B)


class StepWideModule(CrossEntropyModule):
    """Trains a dual encoder by cross-entropy over options, contexts of pairs, and other texts of the step.

    The loss is the mean cross-entropy over all choices (of answers and, with `direction=both`, of contexts),
    plus `negatives_weight` times `ranking`. The loss by which an epoch is selected is that of the options
    alone, so that it can be compared between settings.
    """

    def on_fit_start(self) -> None:
        if self.trainer.world_size > 1:
            raise FiglangError(
                "method.direction=both and method.negatives=batch of dual encoders need one process, which "
                "has all items of a step; add trainer.devices=1"
            )
        super().on_fit_start()

    def read(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        if not self.network.training:
            return super().read(batch)
        method = self.method
        assert isinstance(self.score, Dual), "the format is dual"
        vectors_NH = self.score.vectors(self.network, batch)
        scores_BC, gold_B = self.score.scores(vectors_NH, batch), batch.gold
        texts = Texts.of(batch)
        # Autocast would round the similarities to two digits.
        with torch.autocast(vectors_NH.device.type, enabled=False):
            scores_KU = self.score.scale * (vectors_NH[texts.contexts] @ vectors_NH[texts.answers].T)
        if method.direction == "both":
            backward_BK, context_B = backward(scores_KU, texts)
            width = max(scores_BC.shape[1], backward_BK.shape[1])
            scores_BC = torch.cat([_widened(each, width) for each in (scores_BC, backward_BK)])
            gold_B = torch.cat([gold_B, context_B])
        loss = self.chosen(scores_BC, gold_B, batch.teacher)
        if method.negatives == "batch" and method.negatives_weight:
            weight, both = method.negatives_weight, method.direction == "both"
            loss = loss + weight * ranking(scores_KU, texts, both)
        return scores_BC, gold_B, loss


def _widened(scores_BC: Tensor, width: int) -> Tensor:
    return pad(scores_BC, (0, width - scores_BC.shape[1]), value=-torch.inf)
