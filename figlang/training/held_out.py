"""Which items are trained on, and which ones decide the epoch that is exported."""

import random
from collections.abc import Iterable

from figlang.config import MethodConfig
from figlang.errors import FiglangError
from figlang.tasks.mix import original
from figlang.tasks.twins import twin
from figlang.text.amounts import counted, form
from figlang.types import Item, Split


def select(
    method: MethodConfig, train: Split, validation: Split, seed: int
) -> tuple[tuple[Item, ...], tuple[Item, ...], list[str]]:
    """Items to train on, items that decide which epoch is exported, and a note about them.

    Args:
        method: Settings of the method.
        train: The training split.
        validation: The validation split.
        seed: Seed of the training.
    """
    if method.selection == "none":
        return train.items, (), []
    if method.selection == "validation":
        known = labelled(validation.items)
        if not known:
            raise FiglangError(
                f"{validation.source}: every label is hidden, so none can select an epoch; use "
                "selection=heldout"
            )
        return (
            train.items,
            known,
            ["the exported epoch is selected on the validation split: its numbers are optimistic"],
        )
    groups = sorted({original(item.group) for item in train.items})
    count = max(1, round(method.held_out * len(groups)))
    if count == len(groups):
        raise FiglangError(
            f"{train.source} has {counted(len(groups), 'cluster')} of items and none can be held out; use "
            "method.selection=none"
        )
    out = set(random.Random(seed).sample(groups, count))
    selected = tuple(item for item in labelled(train.items) if original(item.group) in out)
    others = [item for item in train.items if original(item.group) not in out]
    seen = {text for item in selected if (text := twin(item))}
    kept = tuple(item for item in others if twin(item) not in seen)
    notes = [
        f"{train.name}: {counted(len(selected), 'item')} of {counted(count, 'cluster')} held out to "
        "select the exported epoch"
    ]
    if not labelled(kept):
        raise FiglangError(
            f"every text of {train.source} is among those held out too; use method.selection=none"
        )
    if len(kept) < len(others):
        notes.append(
            f"{train.name}: {counted(left := len(others) - len(kept), 'item')} whose text is among those "
            f"held out {form(left, 'is', 'are')} not trained on"
        )
    return kept, selected, notes


def labelled(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items that have a label."""
    return tuple(item for item in items if item.gold is not None)
