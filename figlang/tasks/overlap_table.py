"""Contamination of a training: the splits that are searched, and tables of the result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tables import Table
from figlang.tables.cells import Cell
from figlang.tasks import overlap, registry
from figlang.text.amounts import counted, form
from figlang.types import Prediction, Split

SAMPLES = "package:figlang/samples"
SHOWN = 12  # ids that a card lists; all are in metrics.json


def evaluated(
    trained: DataConfig, against: Sequence[DataConfig], paths: PathsConfig
) -> list[tuple[str, str, Split]]:
    """Names, roles and items of the evaluation splits of some data sets, in the same folders as the training
    data unless a preset has a folder of its own.

    If a divided task was trained on, only the items that were held out are searched, otherwise all of them.
    The names say where bundled samples stand for a data set.

    Raises:
        FiglangError: A data set of `against` is not here.
    """
    divided = any(registry.task(part.dataset).divided for part in registry.parts(trained))
    held_out = trained.held_out if divided else 1.0
    found: dict[tuple[str, str], tuple[str, str, Split]] = {}
    for one in (part for whole in against for part in registry.parts(whole)):
        root = trained.root if one.root is None and one.file is None else one.root
        settings = replace(one, root=root, seed=trained.seed, held_out=held_out)
        name = one.name if root == one.root or root != SAMPLES else f"{one.name}, bundled sample"
        try:
            splits = registry.evaluated(settings, paths)
        except FiglangError as error:
            if one.name == trained.name:
                raise
            raise FiglangError(
                f"evaluation text of {one.name} cannot be looked for: {error}; or leave {one.name} out of "
                "against=[…]"
            ) from error
        for role, split in zip(("validation", "test"), splits, strict=False):
            # Another size of a data set, or a limited one, has the same evaluation splits.
            found.setdefault((split.name, split.sha256), (name, role, split))
    return list(found.values())


def table(found: Mapping[str, Any], title: str) -> Table:
    """The result of `overlap.check` as a table of counts."""
    rows = tuple(
        (
            one["data"],
            one["split"],
            one["items"],
            _count(one, "context"),
            _count(one, "near"),
            _count(one, "option"),
        )
        for one in found["evaluated"]
    )
    columns = (
        "data",
        "split",
        "items",
        "context overlaps",
        "context has a near-duplicate",
        "an option overlaps",
    )
    return Table("contamination", f"Overlap with {title}", columns, rows, (method(found),))


def method(found: Mapping[str, Any]) -> str:
    """A sentence about the method of the search."""
    dropped = len(found["dropped"])
    left = (
        f"{counted(dropped, 'training item')} whose metaphor is one of an evaluation split "
        f"{form(dropped, 'was', 'were')} left out before."
    )
    alike = (
        f" Near-duplicate: a training context with a Jaccard similarity of {found['alike']:g} or more, by "
        "words."
        if "alike" in found
        else ""
    )
    return (
        f"Overlap: {found['n']} words in a row that a training text has too, case and punctuation aside; of "
        f"texts with fewer, all (at least {found['shortest']}).{alike} {left}"
    )


def ids(found: Mapping[str, Any]) -> list[str]:
    """Lines that name the evaluation items whose context overlaps, each with the training item that it
    overlaps with."""
    lines = []
    for one in found["evaluated"]:
        named = [f"{ours} = {theirs}" for ours, theirs in one["context"].items()]
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        if named:
            lines.append(f"{one['data']} {one['split']}: {', '.join(named[:SHOWN])}{more}")
    return lines


def by_cleanness(
    found: Mapping[str, Any],
    splits: Sequence[tuple[str, str, Split]],
    predicted: Sequence[tuple[str, Sequence[Prediction]]],
) -> Table:
    """Accuracy on the clean items of a split beside the whole.

    Args:
        found: The result of `overlap.check` for the splits.
        splits: Names of data, roles and items.
        predicted: Names of systems with their predictions; shown with each split that has their items.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, predictions in predicted:
        for one, (_, _, split) in zip(found["evaluated"], splits, strict=True):
            known = {item.id for item in split.items}
            if all(prediction.id in known for prediction in predictions):
                measured = overlap.by_cleanness(one, predictions)
                rows.append(
                    (
                        name,
                        one["data"],
                        one["split"],
                        measured["whole"],
                        measured["clean"],
                        measured["others"],
                    )
                )
    columns = ("system", "data", "split", "all items", "clean items", "other items")
    note = "Clean: the context neither overlaps with a training text nor has a near-duplicate."
    return Table("clean", "Accuracy on clean items beside the whole", columns, tuple(rows), (note,))


def _count(one: Mapping[str, Any], part: str) -> str:
    if part not in one:  # a checkpoint from before these were looked for
        return "–"
    return f"{len(one[part])} ({100 * len(one[part]) / one['items']:.1f} %)"
