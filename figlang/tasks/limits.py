"""`data.limit`: a few items of a split."""

from dataclasses import replace
from itertools import accumulate

from figlang.types import Split


def limited(split: Split, limit: int) -> Split:
    """A split with fewer items, in their order.

    Args:
        split: The split.
        limit: The number of items that are kept, fewer than it has.

    Returns:
        The first items of the split, or of each of its parts. Shares of parts are as even as their sizes
        allow, so that the result is not only the first part.
    """
    total = len(split.items)
    if len(split.parts) < 2 or sum(split.parts) != total:
        note = f"{split.name}: the first {limit} of {total} items, since data.limit={limit}"
        return replace(split, items=split.items[:limit], notes=(*split.notes, note), whole=False, parts=())
    kept = shares(split.parts, limit)
    starts = (0, *accumulate(split.parts))
    items = tuple(
        item
        for start, count in zip(starts, kept, strict=False)
        for item in split.items[start : start + count]
    )
    few, many = min(kept), max(kept)
    each = str(few) if few == many else f"{few} to {many}"
    note = (
        f"{split.name}: {limit} of {total} items, the first {each} of each of {len(kept)} parts, since "
        f"data.limit={limit}"
    )
    return replace(split, items=items, notes=(*split.notes, note), whole=False, parts=tuple(kept))


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
