"""Several data sets to train on as one.

A part's proportion says how often an epoch sees its items: 1 once, 2 twice, 0.25 a quarter of its groups,
which `data.seed` draws once for all epochs. NLI parts are posed as choices, MUNCH as the choice of a
paraphrase. The validation split is that of the first part; each benchmark is evaluated on as usual.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from figlang.config import DataConfig
from figlang.config.data import NLI
from figlang.types import Item, Split

AGAIN = " again "


def parts(data: DataConfig) -> tuple[DataConfig, ...]:
    """The settings of each data set of a mixture; of another data set, its own."""
    if data.dataset != "mix":
        return (data,)
    posed = {"munch": "paraphrase", **dict.fromkeys(NLI, "choice")}
    return tuple(
        replace(data, name=name, dataset=name, question=posed.get(name, "both"), mix={})
        for name, proportion in data.mix.items()
        if proportion
    )


def mixed(data: DataConfig, splits: Sequence[Split]) -> Split:
    """The training splits of `parts(data)`, in that order, in their proportions."""
    shares = [data.mix[part.name] for part in parts(data)]
    taken = [
        replace(split, items=tuple(_taken(split, share, data.seed)))
        for split, share in zip(splits, shares, strict=True)
    ]
    sizes = ", ".join(
        f"{part.name} {len(split.items)}" for part, split in zip(parts(data), taken, strict=True)
    )
    whole = joined("mix_train", taken)
    named = [f"{part.name}={share:g}" for part, share in zip(parts(data), shares, strict=True)]
    drawn = ",".join([*named, f"seed={data.seed}"])
    dropped = tuple(identifier for split in splits for identifier in split.dropped)
    return replace(
        whole, notes=(f"items of each part of data.mix: {sizes}", *whole.notes), drawn=drawn, dropped=dropped
    )


def joined(name: str, splits: Sequence[Split]) -> Split:
    """Splits one after the other."""
    items = tuple(item for split in splits for item in split.items)
    if len(splits) == 1:
        return Split(name, items, splits[0].source, splits[0].sha256, splits[0].notes)
    digest = sha256("".join(split.sha256 for split in splits).encode()).hexdigest()
    notes = tuple(note for split in splits for note in split.notes)
    return Split(name, items, " + ".join(split.source for split in splits), digest, notes)


def original(group: str) -> str:
    """The group that a repeated one is a copy of: both are to be held out, or none."""
    return group.partition(AGAIN)[0]


def _taken(split: Split, share: float, seed: int) -> Iterator[Item]:
    groups = sorted({item.group for item in split.items})
    times, rest = divmod(share, 1)
    once_more = set(random.Random(f"{seed} {split.name}").sample(groups, round(rest * len(groups))))
    for copy in range(int(times) + 1):
        for item in split.items:
            if copy < int(times) or item.group in once_more:
                # A pair is two items of a group: copies are pairs of their own.
                again = f"{AGAIN}{copy}" if copy else ""
                yield replace(item, id=f"{item.id}{again}", group=f"{item.group}{again}") if copy else item
