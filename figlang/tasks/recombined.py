"""`data.recombined`: items without a label, made of the contexts of training items.

Two metaphors with the same frame, for example "as loud as" or "the depth of", can exchange their images. "The
choir was as loud as a whisper" and "The engine is as loud as thunder" give "The choir was as loud as
thunder". The new item has the options of the item that gave the beginning. Which of them is right is not
known, so only a teacher can say (`method.teacher_model`).
"""

import random
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from figlang.config.data import DataConfig
from figlang.errors import FiglangError
from figlang.text.amounts import counted
from figlang.text.tidying import fold
from figlang.types import Item, Split

FRAME = re.compile(r"\b(?:as ([\w-]+) as|the (\w+) of)\s+(?=\S)", re.IGNORECASE)


@dataclass(frozen=True)
class _Half:
    """A context that was cut behind its frame."""

    item: Item
    beginning: str
    image: str


def added(train: Split, data: DataConfig, kept_out: Iterable[Split] = ()) -> Split:
    """The training items with recombined ones behind them.

    Args:
        train: The training items.
        data: The settings of the data; `seed` draws the items from all that can be made.
        kept_out: Splits whose contexts no new item has. A drawn item that has one is left out.

    Returns:
        The items, at most `data.recombined` more. Those without a label are the new ones.

    Raises:
        FiglangError: No two contexts give a new one, or all are cut.
    """
    if all(item.cut for item in train.items):
        raise FiglangError(
            f"data.recombined makes items of whole contexts, and those of {train.source} are cut at a blank; "
            "leave it out"
        )
    made = recombined(train.items)
    if not made:
        raise FiglangError(
            f"no two contexts of the {counted(len(train.items), 'item')} that are read of {train.source} "
            "have the same frame (as ADJECTIVE as, the NOUN of) and give a new context, so data.recombined "
            "makes no items; leave it out, or read more items (data.limit)"
        )
    if data.recombined < len(made):
        made = random.Random(data.seed).sample(made, data.recombined)
    taken = {fold(item.context) for split in kept_out for item in split.items}
    made = [item for item in made if fold(item.context) not in taken]
    note = f"{train.name}: {counted(len(made), 'item')} without a label, made of the contexts of others"
    drawn = ",".join(filter(None, (train.drawn, f"recombined={data.recombined}", f"seed={data.seed}")))
    return replace(
        train, items=(*train.items, *made), notes=(*train.notes, note), whole=False, drawn=drawn, parts=()
    )


def recombined(items: Sequence[Item]) -> list[Item]:
    """Every item that can be made of others, in the order of those that gave the beginning.

    A context that an item has already, or that was made before, is not made again. Case and final periods
    make no difference.

    Args:
        items: Labelled items.
    """
    frames: dict[tuple[str, bool], list[_Half]] = {}
    for item in items:
        if (found := FRAME.search(item.context)) and type(item) is Item and not item.cut:
            half = _Half(item, item.context[: found.end()], item.context[found.end() :])
            frames.setdefault(((found[1] or found[2]).lower(), found[1] is None), []).append(half)
    known, names = {fold(item.context) for item in items}, {item.id for item in items}
    made: list[Item] = []
    for halves in frames.values():
        for first in halves:
            for second in halves:
                context = first.beginning + second.image
                if (key := fold(context)) not in known:
                    known.add(key)
                    made.append(_item(first.item, second.item, context, names))
                    names.add(made[-1].id)
    return made


def _item(first: Item, second: Item, context: str, names: Container[str]) -> Item:
    name = f"{first.id}+{second.id}"
    while name in names:  # ids of one's own may have a plus
        name += "+"
    return Item(name, first.group, context, first.options, None, paired=False)
