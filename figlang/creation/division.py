"""Divide items into splits so that nothing leaks: pairs and near-duplicates stay together."""

import random
from collections.abc import Iterable, Mapping, Sequence

from figlang.types import Item

ORDER = (
    "validation",
    "test",
    "train",
)  # in this order each gets its first item, since an evaluation needs one


def divide(
    items: Sequence[Item], alike: Iterable[tuple[str, str, float]], shares: Mapping[str, float], seed: int
) -> dict[str, list[Item]]:
    """Divide items.

    Args:
        items: The items.
        alike: Ids of two near-duplicates, and their similarity.
        shares: The share of each split, by a name of ORDER.
        seed: The seed of the division.

    Returns:
        The items of each split that has some, in their order.
    """
    parts = together(items, alike)
    random.Random(seed).shuffle(parts)
    parts.sort(key=len, reverse=True)  # large groups go first, because at the end there is no room for them
    wanted = {name: share * len(items) for name in ORDER if (share := shares[name]) > 0}
    where: dict[str, str] = {}
    have = dict.fromkeys(wanted, 0)
    for part in parts:
        empty = next((name for name in wanted if not have[name]), None)
        name = empty or max(wanted, key=lambda each: wanted[each] - have[each])
        have[name] += len(part)
        where |= dict.fromkeys(part, name)
    return {name: [item for item in items if where[item.id] == name] for name in wanted if have[name]}


def together(items: Sequence[Item], alike: Iterable[tuple[str, str, float]]) -> list[list[str]]:
    """The ids of items that stay in one split: those of a group, and chains of items that are alike."""
    above = {item.id: item.id for item in items}

    def root(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    first: dict[str, str] = {}
    for item in items:
        above[root(item.id)] = root(first.setdefault(item.group, item.id))
    for one, other, _ in alike:
        if one in above and other in above:
            above[root(one)] = root(other)
    parts: dict[str, list[str]] = {}
    for item in items:
        parts.setdefault(root(item.id), []).append(item.id)
    return list(parts.values())
