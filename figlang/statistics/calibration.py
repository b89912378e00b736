"""Calibration: is a model right as often as its probabilities say?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from figlang.statistics.correlation import probability, replied
from figlang.statistics.metrics import Estimate, accuracies
from figlang.types import Prediction

BINS = 10
SMALLEST = 1e-12  # a probability of 0 for the right answer would make the log loss infinite


@dataclass(frozen=True)
class Calibration:
    """Calibration of a model's probabilities.

    Attributes:
        parts: Bins: mean confidence and predictions.
        ece: Expected calibration error over the bins.
        brier: Brier score: mean over items of the squared differences, summed over options; 0 is best.
        log_loss: Mean of -log P(gold), in nats.
        n: Number of items.
    """

    parts: tuple[tuple[float, tuple[Prediction, ...]], ...]
    ece: float
    brier: float
    log_loss: float
    n: int

    @cached_property
    def bins(self) -> tuple[tuple[float, Estimate], ...]:
        """Mean confidence and accuracy of each bin."""
        estimates = accuracies([rows for _, rows in self.parts])
        return tuple(
            (confidence, estimate)
            for (confidence, _), estimate in zip(self.parts, estimates, strict=True)
            if estimate
        )


def calibration(predictions: Sequence[Prediction], bins: int = BINS) -> Calibration | None:
    """Calibration of softmax(scores), in bins of equal size, so that no bin is empty.

    A tie has no choice. It is left out of the bins, but not of the Brier score and the log loss.

    Args:
        predictions: The predictions of one run.
        bins: Number of bins.

    Returns:
        None without labels, and for replies, which have no probabilities.
    """
    if replied(predictions):
        return None
    scored = [row for row in predictions if row.gold is not None and np.isfinite(row.scores).all()]
    chosen = sorted(
        ((probability(row, row.choice), row) for row in scored if row.choice is not None),
        key=lambda pair: pair[0],
    )
    if not chosen:
        return None
    cut = [part for part in np.array_split(np.arange(len(chosen)), min(bins, len(chosen))) if len(part)]
    parts = []
    error = 0.0
    for part in cut:
        rows = tuple(chosen[place][1] for place in part)
        parts.append((float(np.mean([chosen[place][0] for place in part])), rows))
        error += abs(len(rows) * parts[-1][0] - sum(bool(row.correct) for row in rows)) / len(chosen)
    distributions = [
        (row.gold or 0, [probability(row, option) for option in range(len(row.scores))]) for row in scored
    ]
    brier = np.mean(
        [
            sum((p - (option == gold)) ** 2 for option, p in enumerate(probabilities))
            for gold, probabilities in distributions
        ]
    )
    loss = -np.mean([np.log(max(probabilities[gold], SMALLEST)) for gold, probabilities in distributions])
    return Calibration(tuple(parts), float(error), float(brier), float(loss), len(scored))
