"""Items as a chat model is asked about them: once in each order of their options."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from figlang.types import Item


def as_asked(items: Sequence[Item], ids: Collection[str]) -> tuple[Item, ...]:
    """Put items under the ids of questions: `ID/2` is item `ID` with its options turned by one.

    Args:
        items: The items as they are in the data.
        ids: The ids of predictions.

    Returns:
        The items. Where predictions name orders of an item and not the item itself, the orders stand for it.
    """
    known = {item.id: item for item in items}
    turned: dict[str, list[Item]] = {}
    for name in sorted(ids, key=lambda one: (len(one), one)):
        item_id, _, number = name.rpartition("/")
        if name not in known and item_id in known and number.isdecimal():
            turned.setdefault(item_id, []).extend(_turned(known[item_id], name, int(number) - 1))
    return tuple(
        one for item in items for one in (turned.get(item.id, [item]) if item.id not in ids else [item])
    )


def _turned(item: Item, name: str, by: int) -> Iterator[Item]:
    count = len(item.options)
    if by in range(count):
        gold = None if item.gold is None else (item.gold - by) % count
        yield replace(item, id=name, options=item.options[by:] + item.options[:by], gold=gold)
