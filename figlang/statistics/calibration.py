"""Is a model as often right as it is sure? Reliability of the probability that it gives to its choice."""

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
    """Bins of (mean confidence, predictions), the expected calibration error over them, Brier score and log
    loss.

    The Brier score is the mean over items of the squared differences, summed over the options (0 is best);
    log loss is in nats.
    """

    parts: tuple[tuple[float, tuple[Prediction, ...]], ...]
    ece: float
    brier: float
    log_loss: float
    n: int

    @cached_property
    def bins(self) -> tuple[tuple[float, Estimate], ...]:
        """Mean confidence and accuracy of each bin."""
        found = accuracies([rows for _, rows in self.parts])
        return tuple((confidence, one) for (confidence, _), one in zip(self.parts, found, strict=True) if one)


def calibration(predictions: Sequence[Prediction], bins: int = BINS) -> Calibration | None:
    """Calibration of softmax(scores); bins hold equally many items, so that none is empty. None without
    labels, and of replies, which have no probabilities.

    Ties have no choice and are left out of the bins, not of the other scores.
    """
    if replied(predictions):
        return None
    scored = [row for row in predictions if row.gold is not None and np.isfinite(row.scores).all()]
    chosen = sorted(
        ((probability(row, row.choice), row) for row in scored if row.choice is not None),
        key=lambda one: one[0],
    )
    if not chosen:
        return None
    cut = [part for part in np.array_split(np.arange(len(chosen)), min(bins, len(chosen))) if len(part)]
    found = []
    error = 0.0
    for part in cut:
        rows = tuple(chosen[place][1] for place in part)
        found.append((float(np.mean([chosen[place][0] for place in part])), rows))
        error += abs(len(rows) * found[-1][0] - sum(bool(row.correct) for row in rows)) / len(chosen)
    given = [
        (row.gold or 0, [probability(row, option) for option in range(len(row.scores))]) for row in scored
    ]
    brier = np.mean(
        [sum((p - (option == gold)) ** 2 for option, p in enumerate(each)) for gold, each in given]
    )
    loss = -np.mean([np.log(max(each[gold], SMALLEST)) for gold, each in given])
    return Calibration(tuple(found), float(error), float(brier), float(loss), len(scored))
