"""A small learner that never sees a context: it learns which words right options have.

An item that it gets right with every seed can be solved without its context. In the pairs of a file in which
meanings swap, each word is as often right as wrong, and it learns nothing.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log

from figlang.creation.division import together
from figlang.tasks.surface import words
from figlang.types import Item, Prediction

FOLDS = 5


def guess(items: Sequence[Item], alike: Sequence[tuple[str, str, float]], seed: int) -> list[Prediction]:
    """Choose an option of every item by the words of the options of other items.

    Args:
        items: Items with a known answer.
        alike: Near-duplicates. An item is never learnt from its near-duplicates or its group.
        seed: Seed of the division into FOLDS parts.

    Returns:
        A prediction for each item, in their order. The score of an option is the sum of the log-odds of its
        words, rounded.
    """
    parts = together(items, alike)
    random.Random(seed).shuffle(parts)
    fold = {name: place % FOLDS for place, part in enumerate(parts) for name in part}
    found: dict[str, Prediction] = {}
    for held in range(FOLDS):
        right, wrong = defaultdict[str, float](float), defaultdict[str, float](float)
        for item in items:
            if fold[item.id] != held:
                for place, option in enumerate(item.options):
                    share = 1.0 if place == item.gold else 1 / (len(item.options) - 1)
                    for word in words(option):
                        (right if place == item.gold else wrong)[word] += share
        for item in items:
            if fold[item.id] == held:
                scores = tuple(_score(words(option), right, wrong) for option in item.options)
                found[item.id] = Prediction.of(item, scores)
    return [found[item.id] for item in items]


def _score(some: frozenset[str], right: Mapping[str, float], wrong: Mapping[str, float]) -> float:
    """Rounded, so that the order of a sum decides nothing."""
    return round(sum(log((right.get(word, 0) + 1) / (wrong.get(word, 0) + 1)) for word in some), 9)
