"""Distributions over the options of choices, as a table."""

from collections.abc import Sequence

import torch
from torch import Tensor


def table(rows: Sequence[Sequence[float]], width: int) -> Tensor | None:
    """A row of probabilities for each choice.

    Args:
        rows: The probabilities of its options; empty if nothing is known of them.
        width: Options of the choice that has most.

    Returns:
        Probabilities (B, C), zeros where a row is empty or a choice has fewer options; None if every row is
        empty.
    """
    if not any(rows):
        return None
    probabilities_BC = torch.zeros(len(rows), width)
    for place, row in enumerate(rows):
        probabilities_BC[place, : len(row)] = torch.tensor(row)
    return probabilities_BC
