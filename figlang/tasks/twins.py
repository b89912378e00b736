"""Items of different splits that say the same."""

from figlang.text.tidying import fold
from figlang.types import Item, Split


def near_duplicates(train: Split, other: Split) -> dict[str, str]:
    """Find training items with the same context as an item of another split. Case and final periods are
    ignored.

    Returns:
        The id of each training item, with the id of the item that it repeats.
    """
    known = {fold(item.context): item.id for item in other.items}
    return {item.id: known[key] for item in train.items if (key := fold(item.context)) in known}


def twin(item: Item) -> str:
    """A key that is the same for items about the same text. The key of a text that is cut includes its
    options. It is empty if the item has no text."""
    if item.cut:
        return fold(" ".join((item.context, *item.options)))
    return fold(item.context)
