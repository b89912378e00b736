"""Run folders: one deterministic place for everything a training writes, claimed by one process at a time."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytorch_lightning.utilities import rank_zero_only

from figlang.files import folders
from figlang.runs import outputs
from figlang.files import stored
from figlang.config import TrainConfig
from figlang.errors import FiglangError
from figlang.models.checkpoint import ancestry
from figlang.files.whole import write_text
from figlang.runs.predictions import BACKWARD, BLIND, FORWARD, JUDGEMENTS, MEASURED, REPLIES
from figlang.files.redaction import redacted_values
from figlang.config.signature import digest
from figlang.types import Split

# What does not change a result, so that it may differ between a run and its continuation.
FREE = ("run", "resume", "overwrite", "skip_finished", "also", "blind", "paths", "logger")
# What a training writes into its run folder, with recipe.json, by which a run folder is known.
FILES = ("config.yaml", "log.csv", FORWARD, BACKWARD, BLIND, JUDGEMENTS, MEASURED, REPLIES)
FOLDERS = ("model", "checkpoints", "figures", "wandb", "wandb-id.txt")


@dataclass(frozen=True)
class Run:
    """A claimed run folder. Its last file is metrics.json: a folder that has it is finished."""

    folder: Path

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.json"

    @property
    def predictions(self) -> Path:
        return self.folder / "predictions.jsonl"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def checkpoint(self) -> Path:
        """State of the last whole epoch, for resuming; removed when the run is finished."""
        return self.folder / "checkpoints" / "last.ckpt"

    @property
    def best(self) -> Path:
        """Weights that are exported, if not those in memory: of the epoch with the least selection loss, or
        gathered from several processes; removed when the run is finished."""
        return self.folder / "checkpoints" / "best.ckpt"

    @property
    def figures(self) -> Path:
        return self.folder / "figures"


def recipe(config: TrainConfig, train: Split, validation: Split) -> dict[str, Any]:
    """Everything that determines a run's result: its settings, without secrets as they are written, the
    hashes of its data, and which items these are, since a test file decides too which of them are trained on
    (near-duplicates are not).

    Where training goes on from a run or an export, also what identifies that one: its folder may come to hold
    another.
    """
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    if config.model.family != "causal":
        # An encoder has none; finished runs of before model.bos=auto say so.
        settings["model"]["bos"] = "none"
    settings["trainer"] = {name: value for name, value in settings["trainer"].items() if name != "progress"}
    items = {name: digest([item.id for item in split.items]) for name, split in (("train", train), ("validation", validation))}
    data = {"train": train.sha256, "validation": validation.sha256, "items": items}
    found = {"settings": redacted_values(settings), "data": data}
    before = ancestry(config.model)
    return found if before is None else found | {"start": before.settings}


def finished(config: TrainConfig, train: Split, validation: Split) -> bool:
    """Whether the run is there already and may be shown again.

    Raises FiglangError for a finished run that may be neither shown nor replaced, or that had other settings.
    """
    run = Run(Path(config.run or ""))
    if run.metrics.is_dir() or run.metrics.is_symlink():
        raise FiglangError(f"{run.metrics} is not a file; move it away, and the same command runs again")
    if not run.metrics.is_file() or config.overwrite:
        return False
    before, wanted = _read_recipe(run.folder / "recipe.json"), recipe(config, train, validation)
    if digest(before) != digest(wanted):
        changed = ", ".join(outputs.differences(before, wanted))
        raise FiglangError(f"{run.folder} holds a finished run with other settings ({changed}); overwrite=true replaces it")
    if not config.skip_finished:
        raise FiglangError(
            f"{run.folder} holds a finished run; overwrite=true replaces it, run=FOLDER or another seed "
            "makes a new one"
        )
    if run.checkpoint.parent.exists():  # of a process that was killed when all was written
        with folders.locked(run.folder, "run=FOLDER"):
            shutil.rmtree(run.checkpoint.parent, ignore_errors=True)
    return True


@contextmanager
def claim(config: TrainConfig, train: Split, validation: Split) -> Iterator[Run]:
    """The run folder, locked against a second process, with earlier state kept for resuming or removed.

    Raises FiglangError if another process works in it, or if an unfinished run in it had other settings.
    """
    run = Run(Path(config.run or ""))
    if rank_zero_only.rank != 0:  # a process that the first one started: the folder is claimed
        yield run
        return
    with folders.locked(run.folder, "run=FOLDER"):
        if run.metrics.is_file() and not config.overwrite:
            raise FiglangError(f"{run.folder} was finished by another process meanwhile; the same command shows its result")
        for part in FOLDERS:
            folders.check_place(run.folder / part)
        wanted = recipe(config, train, validation)
        # Only a folder that a run of ours began in is cleared: `run=` may name any folder.
        if (config.overwrite or config.resume == "never") and (run.folder / "recipe.json").is_file():
            _clear(run)
        else:
            _check_same(run, wanted)
        write_text(run.folder / "recipe.json", json.dumps(wanted, indent=2) + "\n")
        yield run
        shutil.rmtree(run.checkpoint.parent, ignore_errors=True)


def _clear(run: Run) -> None:
    """Remove what trainings wrote, and evaluations and reports about it; the user's own files stay.

    First goes metrics.json, which says that the rest is whole; the mark of a run folder, recipe.json, stays.
    """
    run.metrics.unlink(missing_ok=True)
    for name in (*FILES, *FOLDERS):
        path = run.folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    evaluations = run.folder / "evaluations"
    for picture in evaluations.glob("prompts-*-??????.*"):
        picture.unlink()
    for folder in (*evaluations.glob("*"), run.folder / "report", evaluations):
        if folder.is_dir() and not folder.is_symlink() and not evaluations.is_symlink():
            folders.clear(folder, outputs.MADE)


def _check_same(run: Run, wanted: dict[str, Any]) -> None:
    path = run.folder / "recipe.json"
    if not path.is_file():
        if any(entry.name != folders.LOCK for entry in run.folder.iterdir()):
            raise FiglangError(f"{run.folder} holds files that are not of a run; choose run=FOLDER")
        return
    before = _read_recipe(path)
    if digest(before) != digest(wanted):
        changed = ", ".join(outputs.differences(before, wanted))
        raise FiglangError(f"{run.folder} holds an unfinished run with other settings ({changed}); overwrite=true starts it anew")


def _read_recipe(path: Path) -> dict[str, Any]:
    return stored.document(path, stored.RECIPE, "overwrite=true starts the run anew")
