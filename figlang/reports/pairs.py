"""A sentence on pair accuracy beside accuracy."""

from math import log

from figlang.statistics.metrics import Estimate

SAME = "A system that gives all items of a pair the same answer gets no pair right."


def expected(accuracy: Estimate, pairs: Estimate) -> float | None:
    """The share of pairs that would be right at this accuracy if the answers to a pair were independent.

    Args:
        accuracy: Accuracy over items.
        pairs: Pair accuracy. Its chance says how many items a pair has.

    Returns:
        The share; None if chance is not known or is not a power of that of an item.
    """
    if not accuracy.chance or not pairs.chance or not 0 < accuracy.chance < 1:
        return None
    items = log(pairs.chance) / log(accuracy.chance)
    return None if abs(items - round(items)) > 0.01 else accuracy.value ** round(items)


def sentence(accuracy: Estimate | None, pairs: Estimate | None) -> str:
    """The pair accuracy to expect at an accuracy; empty if it is not known."""
    share = expected(accuracy, pairs) if accuracy is not None and pairs is not None else None
    if accuracy is None or pairs is None or share is None:
        return ""
    return (
        f"{SAME} At an accuracy of {100 * accuracy.value:.1f} %, {100 * share:.1f} % of the pairs would be "
        f"right if their answers were independent; {100 * pairs.value:.1f} % are."
    )
