"""Learning the similarities of texts that dual encoders find (`method.similarity_weight`).

Beside the distribution over the options of an item, a student learns how similar all texts of a step are to
each other: for each context a distribution over the answers of the step and one over the other contexts, and
for each answer one over the other answers. Similarities of a batch were distilled by Tung and Mori (2019,
arXiv 1907.09682, equation 4). Here they are logits of distributions, as the scores of a dual encoder are.

Shape letters: B items, C options, H hidden, K distinct contexts, U distinct answers; N texts that ask and D
texts that are compared with them.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from figlang.config import MethodConfig
from figlang.scoring.encode import Batch
from figlang.scoring.head import Dual
from figlang.training import distillation
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.near_base import NearBase
from figlang.training.teacher_networks import Teaching


def apart(told_ND: Tensor, own_ND: Tensor, temperature: float, alike: bool = False) -> Tensor:
    """The mean divergence (Kullback-Leibler) of the student's distributions from the teachers'.

    Args:
        told_ND: Scores by the teachers.
        own_ND: Scores by the student.
        temperature: Both are divided by it; see `distillation.divergence`.
        alike: Whether rows and columns are the same texts. A text is then not compared with itself.
    """
    if alike:
        if len(own_ND) < 2:
            return own_ND.new_zeros(())
        itself_ND = torch.eye(len(own_ND), dtype=torch.bool, device=own_ND.device)
        told_ND, own_ND = (scores.masked_fill(itself_ND, -torch.inf) for scores in (told_ND, own_ND))
    return distillation.divergence((told_ND / temperature).softmax(1), own_ND, temperature).mean()


class SimilarityModule(CrossEntropyModule):
    """Trains a dual encoder by its options, and by the similarities that its teachers find.

    The loss by which an epoch is selected is that of the labels alone, so that it can be compared.

    Args:
        network: As for the other ways of training.
        method: As there.
        score: As there.
        steps: As there.
        seed: As there.
        ratio: As there.
        teaching: The vectors of the teachers.
        near: As there.
    """

    def __init__(
        self,
        network: nn.Module,
        method: MethodConfig,
        score: Dual,
        steps: int,
        seed: int,
        ratio: float = 1.0,
        *,
        teaching: Teaching,
        near: Callable[[nn.Module, int], NearBase] | None = None,
    ) -> None:
        super().__init__(network, method, score, steps, seed, ratio, near=near)
        self._dual = score
        self._texts = teaching.texts
        # In a list, tensors are not a part of the module: they are not saved.
        self._vectors: Sequence[Tensor] = teaching.vectors

    def on_fit_start(self) -> None:
        super().on_fit_start()
        self._vectors = [vectors_UH.to(self.device) for vectors_UH in self._vectors]

    def read(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        if not self.network.training:
            return super().read(batch)
        vectors_NH = self._dual.vectors(self.network, batch)
        scores_BC = self._dual.scores(vectors_NH, batch)
        loss = self.chosen(scores_BC, batch.gold, batch.teacher)
        # Autocast would round the similarities to two digits.
        with torch.autocast(vectors_NH.device.type, enabled=False):
            loss = loss + self.method.similarity_weight * self._unlike(vectors_NH, batch)
        return scores_BC, batch.gold, loss

    def _unlike(self, vectors_NH: Tensor, batch: Batch) -> Tensor:
        """How far the similarities of the texts of a step are from the teachers'."""
        assert batch.context_rows is not None, "the format is dual"
        contexts_K = torch.unique(batch.context_rows)
        answers_U = torch.unique(batch.option_rows[batch.option_rows >= 0])
        numbers_N = self._numbers(len(vectors_NH), batch)
        temperature, total = self.method.temperature, vectors_NH.new_zeros(())
        for rows, columns in ((contexts_K, answers_U), (contexts_K, contexts_K), (answers_U, answers_U)):
            own_ND = self._dual.scale * (vectors_NH[rows] @ vectors_NH[columns].T)
            told_ND = self._by_teachers(numbers_N[rows], numbers_N[columns])
            total = total + apart(told_ND, own_ND, temperature, rows is columns)
        return total

    def _by_teachers(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The mean of the scores that the teachers have for each text of `columns` after each of `rows`."""
        each = [vectors_UH[rows].float() @ vectors_UH[columns].float().T for vectors_UH in self._vectors]
        return torch.stack(each).mean(0)

    def _numbers(self, sequences: int, batch: Batch) -> Tensor:
        """The number of the text of each sequence of a batch, (N,)."""
        device, positions = batch.option_rows.device, torch.tensor(batch.positions)
        contexts_B = self._texts.contexts[positions].to(device)
        options_BC = self._texts.options[positions].to(device)[:, : batch.option_rows.shape[1]]
        there_BC = batch.option_rows >= 0
        assert batch.context_rows is not None, "the format is dual"
        rows = torch.cat([batch.context_rows, batch.option_rows[there_BC]])
        texts = torch.cat([contexts_B, options_BC[there_BC]])
        # Texts whose tokens are equal share a sequence. The first of them is taken, on any device.
        many = torch.full((sequences,), len(self._texts.texts), device=device)
        return many.scatter_reduce(0, rows, texts, "amin")
