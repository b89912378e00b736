"""Readers: one file per data set. This index is the only place that knows them all."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

from figlang.config import DataConfig, PathsConfig
from figlang.config.data import NLI
from figlang.errors import FiglangError
from figlang.tasks import mix
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.figqa import rows as figqa_rows
from figlang.tasks.miqa import reading as miqa
from figlang.tasks.munch import reading as munch
from figlang.tasks.nli import reading as nli
from figlang.tasks.winogrande import reading as winogrande
from figlang.types import Split

# Ids that a note names. metrics.json has them all, under contamination.dropped.
LISTED = 50


def load(split: str, data: DataConfig, paths: PathsConfig) -> Split:
    """One split (train, validation or test) of the configured data set; of a mixture, but for training, that
    of its first part."""
    if data.dataset == "mix":
        each = mix.parts(data)
        return (
            mix.mixed(data, [load(split, part, paths) for part in each])
            if split == "train"
            else load(split, each[0], paths)
        )
    if data.dataset == "figqa_csv":
        file = {"train": data.train, "validation": data.validation, "test": data.test}[split]
        if file is None:
            raise FiglangError(
                f"data.{split} is not set; give data.{split}=FILE.csv with the columns "
                f"{', '.join(figqa_rows.COLUMNS)}"
            )
        loaded = figqa.read(Path(file).expanduser(), data.strict, distinct=data.drop_duplicates)
        if split == "test" and data.test_labels is not None:
            loaded = figqa.with_labels(loaded, Path(data.test_labels).expanduser(), data.strict)
    elif data.dataset == "winogrande":
        loaded = winogrande.load(split, data.size, data.root or paths.data, data.strict)
    elif data.dataset in NLI:
        loaded = nli.load(split, data.dataset, data.root or paths.data, data.strict)
        loaded = nli.choices(loaded) if data.question == "choice" else loaded
    elif data.dataset == "miqa":
        loaded = miqa.load(
            split,
            data.question,
            data.root or paths.data,
            paths.cache,
            data.strict,
            upstream=data.root is None,
        )
    elif data.dataset == "munch":
        loaded = munch.load(split, data, data.root or paths.data, paths.cache)
    else:
        loaded = figqa.load(
            split, data.size, data.root or paths.data, paths.cache, data.strict, data.test_labels
        )
    if data.limit is None or data.limit >= len(loaded.items):
        return loaded
    note = (
        f"{loaded.name}: the first {data.limit} of {len(loaded.items)} items, since data.limit={data.limit}"
    )
    return replace(loaded, items=loaded.items[: data.limit], notes=(*loaded.notes, note), whole=False)


def for_training(data: DataConfig, paths: PathsConfig) -> tuple[Split, Split]:
    """Training and validation split; of Fig-QA, without the training items whose metaphor also occurs in an
    evaluation split.

    Raises FiglangError if no training item has a label; some without one are left out with a note.
    """
    if data.dataset == "mix":
        each = [for_training(part, paths) for part in mix.parts(data)]
        return mix.mixed(data, [train for train, _ in each]), each[0][1]
    train, others = _labelled(load("train", data, paths)), evaluated(data, paths)
    if data.dataset not in ("figqa", "figqa_csv"):
        return train, others[0]
    leaked = {ours.id: theirs.id for other in others for ours, theirs in figqa.near_duplicates(train, other)}
    if leaked:
        listed = ", ".join(f"{ours} = {theirs}" for ours, theirs in islice(leaked.items(), LISTED))
        listed += f" and {len(leaked) - LISTED} more" if len(leaked) > LISTED else ""
        done = (
            "dropped from training"
            if data.drop_near_duplicates
            else "kept, since data.drop_near_duplicates=false"
        )
        train = replace(
            train,
            notes=(
                *train.notes,
                f"{len(leaked)} metaphors also occur in an evaluation split, {done}: {listed}",
            ),
        )
        if data.drop_near_duplicates:
            kept = tuple(item for item in train.items if item.id not in leaked)
            train = replace(train, items=kept, dropped=tuple(leaked))
            if not train.items:
                raise FiglangError(
                    f"every metaphor of {train.source} also occurs in an evaluation split, so none is left "
                    "to train on; "
                    "use other files, or data.drop_near_duplicates=false"
                )
    return train, others[0]


def evaluated(data: DataConfig, paths: PathsConfig) -> list[Split]:
    """What is evaluated on: the validation split and, of Fig-QA, the test split if there is one."""
    tested = data.dataset == "figqa" or data.test is not None
    return [load(split, data, paths) for split in ("validation", *(["test"] if tested else []))]


def _labelled(train: Split) -> Split:
    items = tuple(item for item in train.items if item.gold is not None)
    if not items:
        raise FiglangError(
            f"{train.source}: every label is hidden, so nothing can be learnt from it; use a file with labels"
        )
    if len(items) == len(train.items):
        return train
    note = f"{train.name}: {len(train.items) - len(items)} items with hidden labels left out of training"
    return replace(train, items=items, notes=(*train.notes, note))
