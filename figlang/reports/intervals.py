"""What the intervals of a table are over, in words for its readers."""

from collections.abc import Sequence

from figlang.statistics.metrics import by_group, pairs
from figlang.types import Prediction

ALONE = "items, each of which is a cluster of its own"
TOGETHER = "clusters of items that depend on each other"


def unit(rows: Sequence[Prediction]) -> str:
    """Name what is taken as independent: pairs, other clusters, or items that are a cluster each.

    Args:
        rows: The predictions of a run.

    Returns:
        A plural with its explanation, for the middle of a sentence.
    """
    if pairs(rows):
        return "pairs (clusters of items that depend on each other)"
    if all(len(members) == 1 for members in by_group(rows).values()):
        return ALONE
    return TOGETHER


def note(rows: Sequence[Prediction]) -> str:
    """Say what the intervals of shares are over.

    Args:
        rows: The predictions of a run.

    Returns:
        A sentence.
    """
    return f"95 % intervals are over {unit(rows)}."
