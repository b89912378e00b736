"""Learning from teachers: the distribution over the options of an item that other models have.

The loss is that of Hinton et al. (2015, arXiv 1503.02531, §2): cross-entropy with the label, mixed with the
divergence to the teachers' distribution, both softened by one temperature. Several teachers are combined
log-linearly: the mean of their log-probabilities, normalised again.

Shape letters: B choices, C options.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from figlang.scoring.encode import Encoded
from figlang.scoring.tree.branching import EncodedStrings
from figlang.types import Item

Example = Encoded | EncodedStrings


def softened(scores: Sequence[Sequence[float]], temperature: float) -> tuple[float, ...]:
    """The distribution over the options of an item that several teachers have together.

    The mean of log-probabilities differs from that of scores by the same number for all options, so it gives
    the same distribution.

    Args:
        scores: The scores (C,) of each teacher.
        temperature: Scores are divided by it.

    Returns:
        Probabilities (C,).
    """
    means = [math.fsum(each) / len(scores) / temperature for each in zip(*scores, strict=True)]
    highest = max(means)
    weights = [math.exp(mean - highest) for mean in means]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def taught(
    examples: Sequence[Any],
    items: Sequence[Item],
    teachers: Mapping[str, Sequence[Sequence[float]]],
    temperature: float,
) -> list[Any]:
    """Give every example the teachers' distribution of its choices.

    Choices of the metaphor for an answer (`method.direction=both`) have none.

    Args:
        examples: The training items in tokens, or pairs of them.
        items: The training items.
        teachers: The scores of each teacher that scored an item, by its id.
        temperature: See `softened`.
    """
    targets = [softened(teachers[item.id], temperature) if item.id in teachers else () for item in items]

    def of(example: Example) -> Example:
        if isinstance(example, Encoded):
            return replace(example, teacher=targets[example.position])
        # The choices of the answer come first, in the order of the items.
        own = [targets[position] for position in example.positions]
        own += [()] * (len(example.choices) - len(own))
        choices = zip(example.choices, own, strict=True)
        return replace(example, choices=tuple(replace(choice, teacher=target) for choice, target in choices))

    return [of(example) for example in examples]


def counted(items: Sequence[Item], teachers: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """A sentence on how many items have a teacher."""
    having = [len(teachers[item.id]) for item in items if item.id in teachers]
    if len(having) == len(items):
        which = f"all {len(items)} training items have a teacher"
    else:
        which = f"{len(having)} of {len(items)} training items have a teacher, the others their label alone"
    few, many = min(having), max(having)
    if many == 1:
        return which
    return f"{which}: {few if few == many else f'{few} to {many}'} teachers an item"


def divergence(teacher_BC: Tensor, scores_BC: Tensor, temperature: float) -> Tensor:
    """The divergence (Kullback-Leibler) of the network's softened distribution from the teachers'.

    It is multiplied by the square of the temperature, so that its gradient is of the size that it has
    without one.

    Args:
        teacher_BC: The teachers' softened distribution; zeros for a choice that has no teacher.
        scores_BC: The network's scores; -inf where an item has fewer options.
        temperature: The scores are divided by it.

    Returns:
        The divergence of each choice, (B,), in nats; 0 for one that has no teacher.
    """
    log_probs_BC = (scores_BC.float() / temperature).log_softmax(1)
    # -inf times zero is not a number, so places without an option get zero before they are summed.
    log_probs_BC = log_probs_BC.masked_fill(scores_BC.isneginf(), 0)
    return temperature**2 * (torch.xlogy(teacher_BC, teacher_BC) - teacher_BC * log_probs_BC).sum(1)


def mixed(
    label_B: Tensor, teacher_BC: Tensor, scores_BC: Tensor, weight: float, temperature: float
) -> Tensor:
    """The mean loss of choices, some of which have a teacher.

    Args:
        label_B: The loss by the label alone.
        teacher_BC: See `divergence`.
        scores_BC: See `divergence`.
        weight: The share of the divergence in the loss of a choice that has a teacher.
        temperature: See `divergence`.
    """
    share_B = weight * (teacher_BC.sum(1) > 0)
    apart_B = divergence(teacher_BC, scores_BC, temperature)
    return ((1 - share_B) * label_B + share_B * apart_B).mean()
