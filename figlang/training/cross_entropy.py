"""Cross-entropy over the scores of an item's options (Liu et al. 2022, §4.2), or over the classes of NLI.

The paper trains encoders in this way. For causal models, whose options are scored by their
log-probabilities, the paper leaves it to future work (§6.1).
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from figlang.config import MethodConfig
from figlang.training import distillation
from figlang.training.base import ChoiceModule, Score
from figlang.training.near_base import NearBase


class CrossEntropyModule(ChoiceModule):
    """Trains the network so that the gold option, or the gold class, scores highest, and that the options of
    an item have the distribution that its teachers give them.

    The loss by which an epoch is selected is that of the labels alone, so that it can be compared.

    Args:
        network: As for the other ways of training.
        method: As there.
        score: As there.
        steps: As there.
        seed: As there; of the order of an anchor's texts too.
        ratio: As there.
        near: Makes an anchor of the network and the seed: its distance from its base, times
            `method.anchor_weight`, is a second term of the loss.
    """

    def __init__(
        self,
        network: nn.Module,
        method: MethodConfig,
        score: Score,
        steps: int,
        seed: int,
        ratio: float = 1.0,
        *,
        near: Callable[[nn.Module, int], NearBase] | None = None,
    ) -> None:
        super().__init__(network=network, method=method, score=score, steps=steps, seed=seed, ratio=ratio)
        self._near = near(network, seed) if near else None

    def on_fit_start(self) -> None:
        super().on_fit_start()
        if self._near:
            self._near.start(self.device)

    def on_fit_end(self) -> None:
        if self._near:
            self._near.end()
        super().on_fit_end()

    def cases(self, batch: Any) -> int:
        return len(batch.gold)

    def loss(self, batch: Any) -> dict[str, Tensor]:
        if not (self._near and self.training):
            return self._chosen_alone(batch)
        rank, world = (self.global_rank, self.trainer.world_size) if self._trainer else (0, 1)
        distance = self._near.distance(self.global_step, rank, world, self.device)
        result = self._chosen_alone(batch)
        return result | {"loss": result["loss"] + self.method.anchor_weight * distance}

    def _chosen_alone(self, batch: Any) -> dict[str, Tensor]:
        """The result of `loss` without an anchor."""
        scores_BC, gold_B, loss = self.read(batch)
        if self.network.training and self.method.r_drop:
            again_BC, _, again = self.read(batch)
            loss = (loss + again) / 2
            loss = loss + self.method.r_drop * divergence(scores_BC, again_BC)
        return self.counted(scores_BC, gold_B, loss)

    @staticmethod
    def counted(scores_BC: Tensor, gold_B: Tensor, loss: Tensor) -> dict[str, Tensor]:
        """The result of `loss`. Items without a label are cases, and neither right nor wrong."""
        correct = (scores_BC.detach().argmax(1) == gold_B).sum()
        cases = correct.new_tensor(len(gold_B))
        return {"loss": loss, "cases": cases, "labelled": (gold_B >= 0).sum(), "correct": correct}

    def read(self, batch: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Read a batch once.

        Returns:
            Scores of choices, (B, C); the places of the right ones, (B,), -1 without a label; the loss of
            this reading.
        """
        scores_BC = self.score(self.network, batch)
        return scores_BC, batch.gold, self.chosen(scores_BC, batch.gold, batch.teacher)

    def chosen(self, scores_BC: Tensor, gold_B: Tensor, teacher_BC: Tensor | None) -> Tensor:
        """The mean loss of choices with these scores.

        Args:
            scores_BC: Scores; -inf where an item has fewer options.
            gold_B: Places of the gold options; -1 without a label, of an item that has a teacher.
            teacher_BC: Distributions by teachers for the first of the choices; None without teachers.
        """
        method = self.method
        if teacher_BC is None or not (self.network.training and method.teacher_weight):
            return smoothed(scores_BC, gold_B, method.label_smoothing)
        more, wider = (ours - theirs for ours, theirs in zip(scores_BC.shape, teacher_BC.shape, strict=True))
        label_B = smoothed(scores_BC, gold_B, method.label_smoothing, each=True)
        told_BC = pad(teacher_BC, (0, wider, 0, more))
        return distillation.mixed(label_B, told_BC, scores_BC, method.teacher_weight, method.temperature)


def smoothed(scores_BC: Tensor, gold_B: Tensor, smoothing: float, each: bool = False) -> Tensor:
    """Cross-entropy with a target of which a share is spread evenly over the options of each item.

    Args:
        scores_BC: Scores; -inf where an item has fewer options.
        gold_B: Places of the gold options; -1 of an item without a label, whose loss is 0.
        smoothing: The share.
        each: Whether the loss of each item is returned, (B,). Otherwise it is their mean.
    """
    loss = cross_entropy(scores_BC, gold_B, reduction="none" if each else "mean", ignore_index=-1)
    if not smoothing:
        return loss
    there_BC = scores_BC.isfinite()
    # -inf times zero is not a number, so places without an option get zero before they are summed.
    log_probs_BC = scores_BC.log_softmax(1).masked_fill(~there_BC, 0)
    even_B = -(log_probs_BC.sum(1) / there_BC.sum(1)).masked_fill(gold_B < 0, 0)
    return (1 - smoothing) * loss + smoothing * (even_B if each else even_B.mean())


def drops(network: nn.Module) -> bool:
    """Whether a network in training has dropout, so that two readings of one text differ.

    Some layers hold the probability as a number and call a function of torch, for example for attention.
    """
    return any(
        isinstance(value, float) and value > 0
        for module in network.modules()
        for name, value in vars(module).items()
        if "drop" in name or (name == "p" and "Dropout" in type(module).__name__)
    )


def divergence(one_BC: Tensor, other_BC: Tensor) -> Tensor:
    """The mean over the items of the divergence (Kullback-Leibler) of two distributions, in both directions.

    R-Drop (arXiv 2106.14448) adds half of each direction.

    Args:
        one_BC: Scores; -inf where an item has fewer options.
        other_BC: Scores of the same options.
    """
    there_BC = one_BC.isfinite() & other_BC.isfinite()
    one, other = (scores_BC.log_softmax(1).masked_fill(~there_BC, 0) for scores_BC in (one_BC, other_BC))
    weights_BC = (one.exp() - other.exp()).masked_fill(~there_BC, 0)
    return (weights_BC * (one - other)).sum(1).mean() / 2
