"""`data.limit` and `data.train_limit`: a few items of a split."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from figlang.text.amounts import counted
from figlang.types import Item, Split


def limited(split: Split, limit: int, option: str = "data.limit") -> Split:
    """A split with fewer items, in their order.

    Args:
        split: The split.
        limit: The number of items that are kept, fewer than it has.
        option: The option that gives the limit, for notes.

    Returns:
        The first items of the split, or of each of its parts. Shares of parts are as even as their sizes
        allow, so that the result is not only the first part. A pair that is cut is no longer a pair: half of
        it is right more often than the whole.
    """
    total = len(split.items)
    if len(split.parts) < 2 or sum(split.parts) != total:
        note = f"{split.name}: the first {limit} of {total} items, since {option}={limit}"
        items, cut = _uncut(split, split.items[:limit], option)
        return replace(split, items=items, notes=(*split.notes, note, *cut), whole=False, parts=())
    kept = shares(split.parts, limit)
    starts = (0, *accumulate(split.parts))
    taken = [
        item
        for start, count in zip(starts, kept, strict=False)
        for item in split.items[start : start + count]
    ]
    items, cut = _uncut(split, taken, option)
    few, many = min(kept), max(kept)
    each = str(few) if few == many else f"{few} to {many}"
    note = (
        f"{split.name}: {limit} of {total} items, the first {each} of each of {len(kept)} parts, since "
        f"{option}={limit}"
    )
    return replace(split, items=items, notes=(*split.notes, note, *cut), whole=False, parts=tuple(kept))


def _uncut(split: Split, taken: Sequence[Item], option: str) -> tuple[tuple[Item, ...], list[str]]:
    """The taken items, of which those of a cut pair are not paired, and a note about these."""
    whole, left = Counter(item.group for item in split.items), Counter(item.group for item in taken)
    cut = {item.group for item in taken if item.paired and left[item.group] < whole[item.group]}
    if not cut:
        return tuple(taken), []
    many = counted(len(cut), "pair")
    note = f"{split.name}: {option} cuts {many}, whose items count for accuracy and not for pair accuracy"
    return tuple(replace(item, paired=False) if item.group in cut else item for item in taken), [note]


def shares(sizes: tuple[int, ...], limit: int) -> list[int]:
    """How many items are taken of each part: as evenly as the sizes allow, `limit` in all.

    Args:
        sizes: The number of items of each part.
        limit: At most their sum.
    """
    kept = [0] * len(sizes)
    while (left := limit - sum(kept)) > 0:
        open_parts = [place for place, size in enumerate(sizes) if kept[place] < size]
        share = max(1, left // len(open_parts))
        for place in open_parts[:left]:
            kept[place] += min(share, sizes[place] - kept[place])
    return kept
