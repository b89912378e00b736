"""Does a model choose the answer that is likelier by itself?

The analyses are those of Liu et al. (2022), §6.1 (Table 5, Figure 3) and §6.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from figlang.config.groups.scoring import NORMS
from figlang.statistics.correlation import Correlation, pearson, probability, replied, spearman
from figlang.statistics.metrics import pairs
from figlang.types import Item, Prediction

LENGTH, ANSWER = "words in the metaphor", "P(right answer alone), per token"

# The normalised log-probability of each answer alone, by item id.
Alone = Mapping[str, Sequence[float]]


def alone(log_probabilities: Mapping[str, Mapping[str, Any]], norm: str) -> dict[str, list[float]]:
    """log P(y) of every answer by itself, from the rows of log_probabilities.jsonl.

    Args:
        log_probabilities: The rows, by item id.
        norm: A norm of NORMS; for another word it is `sum`.

    Returns:
        The log-probability of each answer of an item, in nats, by its id.
    """
    divisor = NORMS.get(norm, NORMS["sum"])
    return {
        name: [total / divisor(tokens, size) for total, tokens, size in answers]
        for name, row in log_probabilities.items()
        if (answers := row.get("answer_alone"))
    }


@dataclass(frozen=True)
class Reliance:
    """The points of Figure 3 and their rank correlation (Table 5).

    There is a point for the first item of every pair: (log P(y1)/P(y2), P(y1|x1)), in nats and as a
    probability.
    """

    points: tuple[tuple[float, float], ...]
    correlation: Correlation | None


def reliance(predictions: Sequence[Prediction], answers: Alone) -> Reliance:
    """Table 5 and Figure 3: one item for each pair, because its twin has the same answers.

    Replies have no probabilities, and so no points.
    """
    if replied(predictions):
        return Reliance((), None)
    twos = (members for members in pairs(predictions) if len(members) == 2)
    firsts = [members[0] for members in twos if len(members[0].scores) == 2 and members[0].id in answers]
    points = tuple((answers[row.id][0] - answers[row.id][1], probability(row, 0)) for row in firsts)
    return Reliance(points, spearman([x for x, _ in points], [y for _, y in points]))


def factors(
    predictions: Sequence[Prediction], items: Mapping[str, Item], answers: Alone
) -> dict[str, tuple[int, Correlation | None, Correlation | None]]:
    """Section 6.2: how two factors correlate with whether an item is right.

    The factors are the metaphor's length in words and P(right answer alone). `answers` are means over tokens,
    as in the paper. Probabilities of whole answers differ by powers of ten, so a few would determine the
    coefficient.

    Returns:
        For each factor: n; its correlation with true correctness (0 or 1); and the correlation that the paper
            computed, with the continuous P(right answer | metaphor). The last one is None for replies.
    """
    scored = [row for row in predictions if row.gold is not None]
    measured = {
        LENGTH: {row.id: float(len(items[row.id].context.split())) for row in scored if row.id in items},
        ANSWER: {row.id: exp(answers[row.id][row.gold or 0]) for row in scored if row.id in answers},
    }
    correlations = {}
    for name, values in measured.items():
        rows = [row for row in scored if row.id in values]
        x, groups = [values[row.id] for row in rows], [row.group for row in rows]
        if rows:
            true = pearson(x, [float(bool(row.correct)) for row in rows], groups)
            given = [] if replied(rows) else [probability(row, row.gold or 0) for row in rows]
            continuous = pearson(x, given, groups) if given else None
            correlations[name] = (len(rows), true, continuous)
    return correlations
