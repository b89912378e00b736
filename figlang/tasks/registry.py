"""The table of tasks by name, and splits of items loaded through it. This is the only place that knows all
benchmarks."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from figlang.config import ColumnsConfig, DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.machine.importing import uncollected
from figlang.tasks import folds, limits, mix, outside, recombined
from figlang.tasks.figqa.task import FigQa
from figlang.tasks.grid import Reproduced
from figlang.tasks.impli.task import Impli
from figlang.tasks.mabl.task import Mabl
from figlang.tasks.miqa.task import MiQa
from figlang.tasks.munch.task import Munch
from figlang.tasks.nli.task import TITLES, Nli
from figlang.tasks.own.task import Own, OwnFiles
from figlang.tasks.scales import Scale
from figlang.tasks.task import Task
from figlang.tasks.winogrande.task import WinoGrande
from figlang.text.amounts import form
from figlang.types import Split

TASKS: dict[str, Task] = {
    each.name: each
    for each in (
        FigQa(),
        OwnFiles(),
        Own(),
        Mabl(),
        Impli(),
        WinoGrande(),
        MiQa(),
        Munch(),
        *map(Nli, TITLES),
        mix.Mixture(),
    )
}
# The task of items of the user's own.
OWN = OwnFiles.name
# Settings of the group data that name a file or its columns, which some tasks do not read.
FILES = ("file", "train", "validation", "test", "test_labels", "hub", "published", "columns")
# Ids that a note names. metrics.json has them all, under contamination.dropped.
LISTED = 50


def task(name: str) -> Task:
    """The task of a name, which is a value of `data.dataset` and the `task` of a split. The empty name, of a
    split that no reader made, gives a task with all defaults.

    Raises:
        FiglangError: There is no task of that name.
    """
    if not name:
        return Task()
    if name not in TASKS:
        _add(outside.installed())
    if name not in TASKS:
        raise FiglangError(
            f"data.dataset={name} is not a choice; choose one of {', '.join(TASKS)}, or name the folder of a "
            "benchmark of your own by paths.tasks=FOLDER"
        )
    return TASKS[name]


def unknown() -> Task:
    """The task of predictions that do not name one: the task of the first versions of figlang."""
    return TASKS["figqa"]


def task_of(content: Mapping[str, Any]) -> Task:
    """The task that a metrics.json is about.

    Args:
        content: The content of the file. If an early version wrote it, it does not name its task. Then the
            settings of its data or, in the oldest ones, the attributes in it show the task.

    Returns:
        The task. If it is not installed, or if no evaluation wrote the content and no attribute shows the
            task, a task with all defaults, with which numbers can be read.
    """
    if content.get("task") == "":
        return Task()  # results of another tool
    settings = content.get("data", {}).get("settings", {})
    mixture = [name for name, proportion in settings.get("mix", {}).items() if proportion]
    name = content.get("task") or next(iter(mixture), settings.get("dataset"))
    if name is not None:
        return _task_or_plain(str(name))
    attributes = content.get("metrics", {}).get("accuracy_by", {})
    if "question" in attributes:
        return TASKS["miqa"]
    if "form" in attributes:
        return TASKS["munch"]
    # Rows that no evaluation of figlang wrote have no signature. They may be of any benchmark, so nothing
    # that was published about one belongs beside them.
    return unknown() if "signature" in content or "commonsense" in attributes else Task()


def scales() -> dict[str, Scale]:
    """The scales of all tasks by their name."""
    return {each.scale.name: each.scale for each in TASKS.values() if each.scale is not None}


def scale(name: str | None) -> Scale:
    """The scale of a name. Without a name, it is the scale of the first versions of figlang.

    Raises:
        FiglangError: There is no scale of that name.
    """
    known = scales()
    wanted = unknown().name if name is None else name
    if wanted not in known:
        raise FiglangError(f"scale={name} is not a choice; choose one of {', '.join(known)}")
    return known[wanted]


def scale_of(kinds: Iterable[str]) -> Scale:
    """The scale that answers to questions of these kinds are rated on.

    Raises:
        FiglangError: The kinds are of several scales.
    """
    by_kind = {kind: scale for scale in scales().values() for kind in scale.kinds}
    unnamed = scales()[unknown().name]
    rated_on = {scale.name: scale for scale in (by_kind.get(kind, unnamed) for kind in kinds)}
    if len(rated_on) > 1:
        raise FiglangError(
            "answers to different questions are rated on different scales; make a sheet for each benchmark"
        )
    return next(iter(rated_on.values()), unnamed)


def _task_or_plain(name: str) -> Task:
    try:
        return task(name)
    except FiglangError:
        return Task()


def reproduced(folder: str | None = None) -> dict[str, type[Reproduced[Any]]]:
    """What one command reproduces, by the value of `table=`: the tables of figlang's tasks and of other ones.

    Args:
        folder: The folder of tasks of one's own, as `paths.tasks` names it; None if there is none.

    Raises:
        FiglangError: A task of the folder or of an installed package cannot be read.
    """
    _add(outside.installed())
    find(PathsConfig(tasks=folder))
    return {table.table: table for each in TASKS.values() for table in each.reproduced}


def classified() -> list[str]:
    """Names of the tasks whose items are premises with hypotheses."""
    return [name for name, each in TASKS.items() if each.classified(DataConfig())]


def _add(tasks: Iterable[Task]) -> None:
    for each in tasks:
        if TASKS.get(each.name, each) is not each:
            raise FiglangError(f"a task called {each.name!r} exists already; give yours another name")
        TASKS[each.name] = each


def find(paths: PathsConfig) -> None:
    """Add the tasks of the folder `paths.tasks` to the table.

    Raises:
        FiglangError: The folder holds no task, or one whose name another task has.
    """
    if paths.tasks is not None:
        _add(outside.in_folder(Path(paths.tasks)))


def others(paths: PathsConfig) -> list[Task]:
    """The tasks outside of figlang: those of the folder `paths.tasks`, and those of installed packages.

    Raises:
        FiglangError: A task cannot be read, or its name is taken.
    """
    packaged, mine = outside.installed(), outside.in_folder(Path(paths.tasks)) if paths.tasks else []
    _add([*packaged, *mine])
    return [*packaged, *mine]


def check(data: DataConfig, paths: PathsConfig | None = None) -> None:
    """Refuse settings that the task of a data set does not have.

    Args:
        data: Which data set, and which part of it.
        paths: Where tasks of your own are, if they are to be looked for first.

    Raises:
        FiglangError: The task, its question type, its size or a part of a mixture does not exist, or a
            setting names a file, or columns, that the task does not read.
    """
    if paths is not None:
        find(paths)
    asked = task(data.dataset)
    if data.question not in asked.questions:
        raise FiglangError(
            f"data.question={data.question} is not a question of data={data.name}; choose one of "
            f"{', '.join(asked.questions)}"
        )
    if asked.sizes and data.size not in asked.sizes:
        raise FiglangError(
            f"data.size={data.size} is not a training file of {asked.title}; choose one of "
            f"{', '.join(asked.sizes)}"
        )
    if not data.mix.keys() <= TASKS.keys():
        _add(outside.installed())
    mixable = [name for name, each in TASKS.items() if each.mixed_as is not None]
    if unknown := [name for name in data.mix if name not in mixable]:
        raise FiglangError(f"data.mix has no part {unknown[0]!r}; choose some of {', '.join(mixable)}")
    if data.recombined and (data.dataset == mix.NAME or asked.classified(data)):
        raise FiglangError(
            f"data.recombined makes items of contexts with options, and data={data.name} is a mixture or has "
            "premises with hypotheses; leave it out"
        )
    for name in FILES:
        if getattr(data, name) not in (None, ColumnsConfig()) and name not in asked.files:
            readers = " or ".join(other for other, each in TASKS.items() if name in each.files)
            raise FiglangError(
                f"data.{name} is only for data.dataset={readers}, but data={data.name} has "
                f"data.dataset={data.dataset}; leave it out"
            )


def parts(data: DataConfig) -> tuple[DataConfig, ...]:
    """The settings of each part of a mixture. A data set that is not a mixture is the only part."""
    if data.dataset != mix.NAME:
        return (data,)
    return tuple(
        replace(data, name=name, dataset=name, question=task(name).mixed_as or "both", mix={})
        for name, proportion in data.mix.items()
        if proportion
    )


def load(split: str, data: DataConfig, paths: PathsConfig) -> Split:
    """Load one split of the configured data set. Except for training, a mixture has the split of its first
    part.

    Args:
        split: `train`, `validation` or `test`.
        data: Which data set, and which part of it. With `data.fold`, `train` is the items of that fold.
        paths: Where files are looked for and kept.

    Raises:
        FiglangError: The settings are not those of the task, or a file cannot be read.
    """
    check(data, paths)
    if data.dataset == mix.NAME:
        each = parts(data)
        if split != "train":
            return load(split, each[0], paths)
        return mix.mixed(data, each, [load(split, part, paths) for part in each])
    loaded = _limited(split, data, paths)
    return folds.inside(loaded, data) if split == "train" else loaded


def _limited(split: str, data: DataConfig, paths: PathsConfig) -> Split:
    """One split of a data set that is not a mixture, without regard to folds."""
    with uncollected():
        read = task(data.dataset).load(split, data, paths)
    loaded = replace(read, task=data.dataset, question=data.question)
    if data.limit is None or data.limit >= len(loaded.items):
        return loaded
    return limits.limited(loaded, data.limit)


def for_training(data: DataConfig, paths: PathsConfig) -> tuple[Split, Split]:
    """Training and validation split, without the training items that the task calls twins of evaluated ones,
    and without those of `data.fold`. `data.train_limit` takes the first of the others. Items of
    `data.recombined` come last and have no label.

    Raises:
        FiglangError: No training item has a label, or no item is left. If only some have no label, they are
            left out with a note.
    """
    check(data, paths)
    if data.dataset == mix.NAME:
        each = [for_training(part, paths) for part in parts(data)]
        return mix.mixed(data, parts(data), [train for train, _ in each]), each[0][1]
    every, others = _labelled(_limited("train", data, paths)), evaluated(data, paths)
    train = folds.outside(every, data)
    leaked: dict[str, str] = {}
    for other in others:
        leaked |= task(data.dataset).twins(train, other)
    if leaked:
        train = _without(train, leaked, data.drop_near_duplicates)
    if data.train_limit is not None and data.train_limit < len(train.items):
        train = limits.limited(train, data.train_limit, "data.train_limit")
    if data.recombined:
        train = recombined.added(train, data, [every, *others])
    return train, others[0]


def _without(train: Split, leaked: Mapping[str, str], drop: bool) -> Split:
    """Add a note about training items that an evaluation split also has. With `drop`, leave them out."""
    listed = ", ".join(f"{ours} = {theirs}" for ours, theirs in islice(leaked.items(), LISTED))
    listed += f" and {len(leaked) - LISTED} more" if len(leaked) > LISTED else ""
    done = "dropped from training" if drop else "kept, since data.drop_near_duplicates=false"
    note = f"{len(leaked)} metaphors also occur in an evaluation split, {done}: {listed}"
    train = replace(train, notes=(*train.notes, note))
    if not drop:
        return train
    kept = tuple(item for item in train.items if item.id not in leaked)
    if not kept:
        raise FiglangError(
            f"every metaphor of {train.source} also occurs in an evaluation split, so none is left to train "
            "on; use other files, or data.drop_near_duplicates=false"
        )
    return replace(train, items=kept, dropped=tuple(leaked))


def evaluated(data: DataConfig, paths: PathsConfig) -> list[Split]:
    """The evaluation splits: validation, and test if the task has it."""
    check(data, paths)
    return [load(split, data, paths) for split in task(data.dataset).evaluated(data)]


def _labelled(train: Split) -> Split:
    items = tuple(item for item in train.items if item.gold is not None)
    if not items:
        raise FiglangError(
            f"{train.source}: every label is hidden, so nothing can be learnt from it; use a file with labels"
        )
    if len(items) == len(train.items):
        return train
    hidden = form(
        left := len(train.items) - len(items), "item with a hidden label", "items with hidden labels"
    )
    note = f"{train.name}: {left} {hidden} left out of training"
    return replace(train, items=items, notes=(*train.notes, note))
