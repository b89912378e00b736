"""Which evaluated items share text with the training items of a model, where these are known."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.config import EvaluateConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.models.manifest import UNTRAINED, Manifest
from figlang.runs import origins, stages, teaching
from figlang.runs.teaching import Taught
from figlang.tasks import overlap
from figlang.types import Split

log = logging.getLogger("figlang")

# The key of a search for the data set whose texts an anchor read. They are not searched.
ANCHOR_DATA = "anchor_data"


def of_checkpoint(config: EvaluateConfig, manifest: Manifest, split: Split) -> dict[str, Any]:
    """Look for the items of a split in all stages of a checkpoint's training.

    What the checkpoint's own metrics.json says of the split is used again, if all stages were searched for
    it. Otherwise the training items are loaded and searched, which takes a second for 10,000 of them.

    Args:
        config: The options of the evaluation.
        manifest: The manifest of its model.
        split: The items.

    Returns:
        As `of_overlaps`. Empty if the training items are not known.
    """
    if config.checkpoint is None or config.split == "train" or manifest.settings == UNTRAINED:
        return {}
    folder = origins.folder_of(config.checkpoint)
    if folder is None:
        return {}
    try:
        if kept := _kept(folder, manifest, split):
            return kept
        *before, last = stages.known(folder, manifest.trained_on, config.paths)
        taught = teaching.of_run(folder, config.paths) if teaching.hashes(folder) else None
    except FiglangError as error:
        log.info("no accuracy on clean items: %s", error)
        return {}
    overlaps = search(last, [(config.data.name, config.split, split)], before, taught)
    if unknown := overlaps.get("teachers_unknown"):
        log.info("no accuracy on clean items: %s", not_looked_at(unknown))
    return of_overlaps(overlaps, split)


def of_mean(runs: Sequence[Path], manifests: Sequence[Manifest], split: Split) -> dict[str, Any]:
    """What the runs of a mean of weights say of a split that each was evaluated on.

    Args:
        runs: Their folders.
        manifests: The manifests of their networks.
        split: The items.

    Returns:
        As `of_overlaps`, with the items that any of the runs shares text with. Empty if one of them does not
            say it.
    """
    found = [_kept(run, manifest, split) for run, manifest in zip(runs, manifests, strict=True)]
    if not all(found):
        return {}
    touched = {item: theirs for one in found for item, theirs in one["touched"].items()}
    return {**max(found, key=lambda one: int(one["training_items"])), "touched": touched}


def search(
    train: Split,
    evaluated: Sequence[tuple[str, str, Split]],
    before: Sequence[Split],
    taught: Taught | None,
    n: int = overlap.N,
) -> dict[str, Any]:
    """Search for evaluation text in what a model and its teachers were trained on (`overlap.check`).

    Args:
        train: The training split of the last stage.
        evaluated: Names of data, roles and splits.
        before: The training splits of earlier stages.
        taught: What its teachers were trained on; None without teachers.
        n: Words in a row that count as overlap.
    """
    if taught is None:
        return overlap.check(train, evaluated, n, before)
    unknown = {"teachers_unknown": list(taught.unknown)} if taught.unknown else {}
    return overlap.check(train, evaluated, n, before, taught.splits) | unknown


def not_looked_at(unknown: Sequence[str]) -> str:
    """A sentence, without its period, about teachers whose training items are not known."""
    return f"the training items of {', '.join(unknown)}, from which the model learnt, are not known here"


def of_overlaps(overlaps: Mapping[str, Any], split: Split) -> dict[str, Any]:
    """The items of a split that a search (`overlap.check`) found in training items.

    Args:
        overlaps: The result of the search.
        split: The items.

    Returns:
        `stages` and `training_items` that were searched, and in `touched` the training item that each item
            shares text with, by id. An item is touched if its context overlaps or has a near-duplicate. Empty
            if the split was not searched, or if what a teacher was trained on is not known.
    """
    if overlaps.get("teachers_unknown"):
        return {}
    evaluated = next((one for one in overlaps["evaluated"] if _holds(one, split)), None)
    if evaluated is None or "near" not in evaluated:
        return {}
    ids = {item.id for item in split.items}
    touched = {**evaluated["near"], **evaluated["context"]}
    return {
        "stages": overlaps["stages"],
        "training_items": overlaps["training_items"],
        "touched": {item: theirs for item, theirs in touched.items() if item in ids},
    }


def _holds(evaluated: Mapping[str, Any], split: Split) -> bool:
    """Whether the items that were searched include those of a split. The first items of a file are included
    in the whole file, but of two draws from a file neither includes the other."""
    more = evaluated["items"] - len(split.items)
    return evaluated["sha256"] == split.sha256 and (more == 0 or (more > 0 and not split.drawn))


def before_training(run: Path, manifest: Manifest, train: Split, paths: PathsConfig) -> list[Split] | None:
    """The training items of the stages before a training; None, with a warning, if they are not known.

    Args:
        run: Folder of the run.
        manifest: Manifest of its export.
        train: Its own training items.
        paths: Where the data are.
    """
    try:
        before = stages.before(run, paths)
    except FiglangError as error:
        before, reason = [], str(error)
    else:
        reason = "the checkpoint that it began from is not here"
    if len(before) + 1 < stages.counted(manifest.trained_on):
        log.warning(
            "contamination is searched in %s only, not in the stages before it: %s", train.name, reason
        )
        return None
    return before


def _kept(folder: Path, manifest: Manifest, split: Split) -> dict[str, Any]:
    """What the metrics.json of a checkpoint says of a split. Empty if it does not say it of these items: of a
    file that is drawn from, others may have been evaluated."""
    path = folder / origins.METRICS
    if split.drawn or not path.is_file():
        return {}
    document: Any = stored.document(path, stored.DOCUMENT, "evaluate it again")
    overlaps = document.get("contamination")
    searched = isinstance(overlaps, Mapping) and overlaps.get("stages") == stages.counted(manifest.trained_on)
    if searched and teaching.hashes(folder) and "teacher_items" not in overlaps:
        return {}  # of a version that did not search what teachers were trained on
    return of_overlaps(overlaps, split) if searched else {}
