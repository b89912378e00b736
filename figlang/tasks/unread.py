"""Refuse settings of data that would have no effect, since no data set of the command reads them."""

from collections.abc import Sequence
from dataclasses import fields

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks import registry

# Settings of the group data that only some tasks read. `Task.reads` names those of a task.
OF_SOME = (
    *("size", "order", "seed", "held_out", "pos", "tagger"),
    *("drop_duplicates", "drop_near_duplicates"),
)


def check(data_sets: Sequence[DataConfig], *paths: PathsConfig) -> None:
    """Check that each setting of a command is read by one of its data sets.

    Several runs of a command may share a setting that only some of them read, so they are not checked.

    Args:
        data_sets: The settings of every data set that the command reads.
        paths: Where tasks of the user's own are.

    Raises:
        FiglangError: A setting has another value than its default, and none of the data sets reads it, or a
            task is not there.
    """
    from figlang.config import multirun  # needs Hydra, which readers do not import

    if multirun.shared():
        return
    for one in paths:
        registry.find(one)
    read = {name for data in data_sets for name in _read(data)}
    defaults = {spec.name: spec.default for spec in fields(DataConfig)}
    for data in data_sets:
        for name in OF_SOME:
            if name not in read and (value := getattr(data, name)) != defaults[name]:
                raise FiglangError(
                    f"data={data.name} has data.{name}={_typed(value)}, which has no effect: "
                    f"{_readers(data, name)}; leave it out"
                )


def _read(data: DataConfig) -> set[str]:
    """The settings that a data set reads; those of a mixture are of its parts."""
    parts = registry.parts(data)
    drawn = {"seed"} if data.mix or data.fold is not None or data.recombined else set()
    return drawn.union(*(registry.task(part.dataset).reads(part.question) for part in parts))


def _readers(data: DataConfig, name: str) -> str:
    """Who reads a setting: this task for some questions, or else other tasks."""
    asked = registry.task(data.dataset)
    if questions := [question for question in asked.questions if name in asked.reads(question)]:
        return f"only data.question={_any(questions)} reads it"
    others = [
        task.name
        for task in registry.TASKS.values()
        if any(name in task.reads(question) for question in task.questions)
    ]
    drawn = ", a mixture, data.fold and data.recombined" if name == "seed" else ""
    return f"only data.dataset={_any(others)}{drawn} read{'' if drawn else 's'} it"


def _any(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _typed(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
