"""Items that say almost the same: within a file, and in other data sets."""

from collections.abc import Sequence

from figlang.creation.drafts import Fault
from figlang.tasks import overlap
from figlang.text.likeness import Words, links, tokens, words
from figlang.text.tidying import fold
from figlang.types import Item, Split

Pairs = list[tuple[str, str, float]]


def within(items: Sequence[Item], least: float) -> Pairs:
    """Items of different groups with similar contexts: as many pairs as join all that stay together.

    Args:
        items: The items.
        least: Smallest Jaccard similarity of their words.

    Returns:
        The ids of two items, the earlier first, and their similarity.
    """
    sets: dict[str, frozenset[str]] = {}
    owners: dict[str, Item] = {}
    for item in items:
        for place, context in enumerate(overlap.contexts(item)):
            if some := tokens(context):
                sets[f"{item.id} {place}"], owners[f"{item.id} {place}"] = some, item
    groups = {name: owner.group for name, owner in owners.items()}
    found: dict[tuple[str, str], float] = {}
    for one, other, similarity in links(sets, groups, least):
        pair = (owners[one].id, owners[other].id)
        found[pair] = max(similarity, found.get(pair, 0.0))
    return [(*pair, similarity) for pair, similarity in found.items()]


def repeated(items: Sequence[Item]) -> list[Fault]:
    """Items whose context has exactly the words of an item of an earlier group."""
    known: dict[Words, Item] = {}
    faults = []
    for item in items:
        # Emoji alone have no words. They are compared as they are written.
        key = tuple(
            part for context in overlap.contexts(item) for part in (words(context) or (fold(context),))
        )
        before = known.setdefault(key, item)
        if before.group != item.group:
            faults.append(Fault(item.id, "repeated", f"has the words of {before.id}"))
    return faults


def elsewhere(items: Sequence[Item], name: str, split: Split, least: float) -> list[Fault]:
    """Items with a near-duplicate in another data set.

    Args:
        items: The items.
        name: The other data set.
        split: Its items.
        least: Smallest Jaccard similarity.
    """
    ours = Split("items", tuple(items), "", "")
    near = overlap.near_duplicates([split], ours, least)
    return [
        Fault(item.id, "elsewhere", f"is much like {near[item.id]} of {name}")
        for item in items
        if item.id in near
    ]
