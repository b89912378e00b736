"""Items of different splits that say the same."""

from figlang.text.tidying import fold
from figlang.types import Item, Split


def near_duplicates(train: Split, other: Split) -> dict[str, str]:
    """Training items with the same context as an item of another split, case and final periods aside.

    Returns:
        The id of each training item, with the id of the item that it repeats.
    """
    known = {fold(item.context): item.id for item in other.items}
    return {item.id: known[key] for item in train.items if (key := fold(item.context)) in known}


def twin(item: Item) -> str:
    """What items have in common that ask about the same text. A text that is cut is whole only with its
    options; an empty string if the item has no text."""
    if item.cut:
        return fold(" ".join((item.context, *item.options)))
    return fold(item.context)
