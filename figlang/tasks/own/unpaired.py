"""Items of different clusters that have the same options. Without a column of clusters they may be pairs."""

from collections import defaultdict
from collections.abc import Sequence

from figlang.text.tidying import plain
from figlang.types import Item


def counts(items: Sequence[Item]) -> tuple[int, int]:
    """How many items have the options of an item of another cluster, in any order.

    Returns:
        The number of items that look like pairs: the options belong to two items alone, and another one is
        right in each. Then the number of all others.
    """
    alike: dict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item in items:
        alike[tuple(sorted(map(plain, item.options)))].append(item)
    shared = [some for some in alike.values() if len({item.group for item in some}) > 1]
    pairs = sum(len(some) for some in shared if _pair(some))
    return pairs, sum(map(len, shared)) - pairs


def _pair(some: Sequence[Item]) -> bool:
    right = {plain(item.options[item.gold]) for item in some if item.gold is not None}
    return len(some) == len(right) == 2
