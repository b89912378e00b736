"""`data.fold`: a part of the training items that a training leaves out, and that is evaluated in its place.

With K of N for every K, each item is scored by a model that has not seen it (cross-fitting).
"""

from dataclasses import replace
from hashlib import sha256

from figlang.config.data import DataConfig
from figlang.errors import FiglangError
from figlang.tasks.twins import twin
from figlang.text.amounts import counted, form
from figlang.types import Split


def fold_of(group: str, count: int, seed: int) -> int:
    """The fold of a group, from 1 to `count`. It depends on nothing but its name and the seed."""
    return int.from_bytes(sha256(f"{seed} {group}".encode()).digest()[:8]) % count + 1


def inside(train: Split, data: DataConfig) -> Split:
    """The items of the fold, which are evaluated. Without `data.fold`, the split as it is.

    Args:
        train: The training items.
        data: The settings of the data.

    Raises:
        FiglangError: The fold is empty.
    """
    return train if data.fold is None else _taken(train, data, True)


def outside(train: Split, data: DataConfig) -> Split:
    """The items outside the fold, which are trained on. Without `data.fold`, the split as it is.

    Items whose text an item of the fold repeats are left out too, so that the fold is new to the model.

    Args:
        train: The training items.
        data: The settings of the data.

    Raises:
        FiglangError: No item is left.
    """
    return train if data.fold is None else _taken(train, data, False)


def _taken(train: Split, data: DataConfig, wanted: bool) -> Split:
    number, count = map(int, str(data.fold).split("/"))
    within = [fold_of(item.group, count, data.seed) == number for item in train.items]
    taken = [item for item, held in zip(train.items, within, strict=True) if held is wanted]
    name = f"fold {data.fold} (data.seed={data.seed})"
    if wanted:
        note = f"{train.name}: the {len(taken)} of {len(train.items)} items in {name}"
    else:
        seen = {twin(item) for item, held in zip(train.items, within, strict=True) if held} - {""}
        kept = [item for item in taken if twin(item) not in seen]
        repeats = len(taken) - len(kept)
        also = (
            f", and {counted(repeats, 'item')} that {form(repeats, 'repeats', 'repeat')} a text of it"
            if repeats
            else ""
        )
        note = f"{train.name}: {len(kept)} of {len(train.items)} items; left out are {name}{also}"
        taken = kept
    if not taken:
        raise FiglangError(
            f"{train.source} has no item {'in' if wanted else 'outside'} data.fold={data.fold}; use another "
            "data.fold or data.seed"
        )
    drawn = ",".join(filter(None, (train.drawn, f"fold={data.fold}", f"seed={data.seed}")))
    return replace(train, items=tuple(taken), notes=(*train.notes, note), whole=False, drawn=drawn, parts=())
