"""Which clusters are pairs, and how an item outside of all clusters is named."""

from collections.abc import Collection, Sequence

from figlang.text.tidying import plain
from figlang.types import Item


def is_pair(members: Sequence[Item]) -> bool:
    """Whether a cluster is a pair: the items have the same options, and another one is right in each.

    Args:
        members: The items of the cluster.

    Returns:
        True for a pair. The order of options does not matter, and all labels may be hidden.
    """
    texts = {tuple(sorted(map(plain, item.options))) for item in members}
    right = [None if item.gold is None else plain(item.options[item.gold]) for item in members]
    return len(members) > 1 and len(texts) == 1 and (set(right) == {None} or len(set(right)) == len(right))


def lone(name: str, clusters: Collection[str]) -> str:
    """The group of an item that is in no cluster: its name, or a longer one if a cluster is called so.

    Args:
        name: The name of the item.
        clusters: The names of all clusters.
    """
    while name in clusters:
        name += " (alone)"
    return name
