"""Several data sets to train on as one.

A part's proportion says how often its items are in an epoch: 1 is once, 2 is twice, 0.25 is a quarter of its
groups. `data.seed` draws that quarter once for all epochs. A part is asked by its task's question `mixed_as`.
The validation split is that of the first part. Evaluations are on each benchmark as usual.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from figlang.config import DataConfig
from figlang.tasks.task import Task
from figlang.types import Item, Split

NAME = "mix"
AGAIN = " again "


class Mixture(Task):
    """Several data sets as one. Each part is asked as a choice between options that follow from a context, so
    the defaults of `Task` fit."""

    name = NAME
    title = "a mixture"


def mixed(data: DataConfig, parts: Sequence[DataConfig], splits: Sequence[Split]) -> Split:
    """Mix the training splits of the parts in their proportions.

    Args:
        data: The settings of the mixture.
        parts: The settings of each part.
        splits: The training split of each part, in the same order.
    """
    shares = [data.mix[part.name] for part in parts]
    taken = [
        replace(split, items=tuple(_taken(split, share, data.seed)))
        for split, share in zip(splits, shares, strict=True)
    ]
    sizes = ", ".join(f"{part.name} {len(split.items)}" for part, split in zip(parts, taken, strict=True))
    whole = joined("mix_train", taken)
    named = [f"{part.name}={share:g}" for part, share in zip(parts, shares, strict=True)]
    folds = [f"fold={data.fold}"] if data.fold else []
    drawn = ",".join([*named, *folds, f"seed={data.seed}"])
    dropped = tuple(identifier for split in splits for identifier in split.dropped)
    notes = (f"items of each part of data.mix: {sizes}", *whole.notes)
    return replace(whole, notes=notes, drawn=drawn, dropped=dropped, task=NAME)


def joined(name: str, splits: Sequence[Split]) -> Split:
    """Splits one after the other."""
    items = tuple(item for split in splits for item in split.items)
    if len(splits) == 1:
        return Split(name, items, splits[0].source, splits[0].sha256, splits[0].notes)
    digest = sha256("".join(split.sha256 for split in splits).encode()).hexdigest()
    notes = tuple(note for split in splits for note in split.notes)
    return Split(name, items, " + ".join(split.source for split in splits), digest, notes)


def original(group: str) -> str:
    """The group that a repeated group copies. Either both are held out, or neither."""
    return group.partition(AGAIN)[0]


def _taken(split: Split, share: float, seed: int) -> Iterator[Item]:
    groups = sorted({item.group for item in split.items})
    times, rest = divmod(share, 1)
    once_more = set(random.Random(f"{seed} {split.name}").sample(groups, round(rest * len(groups))))
    for copy in range(int(times) + 1):
        for item in split.items:
            if copy < int(times) or item.group in once_more:
                # A pair has two items, so copies of a group get groups of their own.
                again = f"{AGAIN}{copy}" if copy else ""
                yield replace(item, id=f"{item.id}{again}", group=f"{item.group}{again}") if copy else item
