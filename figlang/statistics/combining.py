"""Several systems as one: a weighted sum of their scores, which is a log-linear combination.

A score is a log-probability up to a number that all options of an item share. So the exponentials of a
weighted sum of scores are the product of the systems' probabilities, each to the power of its weight.

Shape letters: M systems, N items, C options.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from figlang.types import Prediction

Rows = Sequence[Prediction]
# Keeps weights finite if they separate all held-out items, and equal if two systems are the same.
RIDGE = 1e-4


def combined(systems: Sequence[Rows], weights: Sequence[float]) -> list[Prediction]:
    """The predictions of several systems together. The order of the systems changes no bit of them.

    Args:
        systems: The predictions of each, on the same items in the same order.
        weights: A factor for each.

    Returns:
        A prediction for each item.
    """
    return [
        replace(
            rows[0],
            scores=tuple(
                math.fsum(weight * score for weight, score in zip(weights, column, strict=True))
                for column in zip(*(row.scores for row in rows), strict=True)
            ),
        )
        for rows in zip(*systems, strict=True)
    ]


def fitted(systems: Sequence[Rows]) -> list[float]:
    """The weights by which the right options of held-out items are most likely, none below 0.

    The mean of -log P(gold) is convex in the weights, so that there is one best choice.

    Args:
        systems: The predictions of each, on the same items in the same order.

    Returns:
        A weight for each system. Items without a label are passed over; without any label, all are 0.
    """
    rows = [each for each in zip(*systems, strict=True) if each[0].gold is not None]
    if not rows:
        return [0.0] * len(systems)
    width = max(len(each[0].scores) for each in rows)
    scores_MNC = np.zeros((len(systems), len(rows), width))
    there_NC = np.zeros((len(rows), width), dtype=bool)
    for place, each in enumerate(rows):
        there_NC[place, : len(each[0].scores)] = True
        for system, row in enumerate(each):
            scores = np.asarray(row.scores)
            scores_MNC[system, place, : len(scores)] = scores - scores.mean()
    gold_N = np.array([each[0].gold for each in rows])
    # Scores of one size, so that the ridge is the same for all.
    sizes_M = np.sqrt((scores_MNC**2).sum((1, 2)) / there_NC.sum())
    sizes_M[sizes_M == 0] = 1
    scores_MNC /= sizes_M[:, None, None]

    def loss(weights_M: np.ndarray) -> tuple[float, np.ndarray]:
        sums_NC = np.where(there_NC, np.tensordot(weights_M, scores_MNC, 1), -np.inf)
        sums_NC -= sums_NC.max(1, keepdims=True)
        probabilities_NC = np.exp(sums_NC)
        totals_N1 = probabilities_NC.sum(1, keepdims=True)
        probabilities_NC /= totals_N1
        items = np.arange(len(rows))
        log_gold_N = sums_NC[items, gold_N] - np.log(totals_N1[:, 0])
        probabilities_NC[items, gold_N] -= 1
        slope_M = (scores_MNC * probabilities_NC).sum((1, 2)) / len(rows)
        return -log_gold_N.mean() + RIDGE * (weights_M**2).sum(), slope_M + 2 * RIDGE * weights_M

    start_M = np.full(len(systems), 1 / len(systems))
    found = minimize(
        loss,
        start_M,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(systems),
        options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-9},
    )
    return [float(weight) for weight in found.x / sizes_M]
