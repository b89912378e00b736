"""Run folders: one fixed place for everything that a training writes, for one process at a time."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from figlang.config import TrainConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import folders, stored
from figlang.files.redaction import redacted_values
from figlang.files.whole import write_text
from figlang.machine.rank import rank
from figlang.models.checkpoint import ancestry
from figlang.runs import outputs, teacher_models, teachers, unfinished
from figlang.runs.predictions import WRITTEN
from figlang.types import Split

# Settings that do not change a result. They may differ when a run is resumed.
FREE = ("run", "name", "resume", "overwrite", "skip_finished", "also", "blind", "paths", "logger")
# Settings that earlier versions did not have. Their defaults are left out of a recipe, so that the recipe of
# an earlier run stays equal.
LATER = {
    "method": (
        *("accumulate", "checkpointing", "optimizer", "schedule", "decay", "ema", "label_smoothing"),
        *("r_drop", "kernels", "anchor", "anchor_weight", "negatives", "negatives_weight", "l2_sp"),
        *("anchor_data", "anchor_texts", "teacher", "teacher_weight", "temperature"),
        *("teacher_model", "similarity_weight"),
    ),
    "data": ("fold", "recombined", "train_limit"),
    "model": ("attention", "base"),
    "peft": ("init", "lr_ratio", "rank_pattern", "alpha_pattern", "tokens"),
}
# Files that a training writes into its run folder, besides recipe.json, which marks a run folder.
FILES = ("config.yaml", "log.csv", *WRITTEN)
TRACKED = ("wandb", "wandb-id.txt", "tensorboard", "mlflow-run.txt")
FOLDERS = ("model", "checkpoints", "figures", *TRACKED)


@dataclass(frozen=True)
class Run:
    """A run folder. Its last file is metrics.json: a folder that has it is finished."""

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
        """State after the last whole epoch, for resuming. It is removed when the run is finished."""
        return self.folder / "checkpoints" / "last.ckpt"

    @property
    def best(self) -> Path:
        """Weights to export, if they are not those in memory. They are removed when the run is finished.

        They are those of the epoch with the lowest selection loss, or are gathered from several processes.
        """
        return self.folder / "checkpoints" / "best.ckpt"

    @property
    def figures(self) -> Path:
        return self.folder / "figures"


def recipe(config: TrainConfig, train: Split, validation: Split) -> dict[str, Any]:
    """Everything that determines a run's result, as plain data without secrets.

    It holds the settings, the hashes of the data, and hashes of the ids of their items: a test file also
    decides which items are trained on, because near-duplicates are removed. If training continues from a run
    or an export, it holds what identifies that one, because its folder may later hold another. For the same
    reason it holds the hashes of the predictions or weights of teachers.
    """
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    if not config.model.causal:
        # An encoder has no bos. Finished runs of versions before model.bos=auto have "none" here.
        settings["model"]["bos"] = "none"
    del settings["data"]["file"]  # the hash of its items stands for it
    settings["method"]["teacher"] = teachers.identities(config.method.teacher)
    del settings["method"]["teacher_base"]  # the network has to be the one on which a teacher was trained
    settings["method"]["teacher_model"] = teacher_models.identities(config.method.teacher_model)
    settings["trainer"] = {name: value for name, value in settings["trainer"].items() if name != "progress"}
    _leave_out_later(settings)
    items = {
        name: digest([item.id for item in split.items])
        for name, split in (("train", train), ("validation", validation))
    }
    data = {"train": train.sha256, "validation": validation.sha256, "items": items}
    content = {"settings": redacted_values(settings), "data": data}
    before = ancestry(config.model)
    return content if before is None else content | {"start": before.settings}


def _leave_out_later(settings: dict[str, Any]) -> None:
    """Remove later settings that have their default, in place."""
    defaults = asdict(TrainConfig())
    for group, names in LATER.items():
        for name in names:
            if settings[group][name] == defaults[group][name]:
                del settings[group][name]


def finished(config: TrainConfig, train: Split, validation: Split) -> bool:
    """Whether the run exists and may be shown again.

    Raises:
        FiglangError: If a finished run may neither be shown nor replaced, or has other settings.
    """
    run = Run(Path(config.run or ""))
    if run.metrics.is_dir() or run.metrics.is_symlink():
        raise FiglangError(f"{run.metrics} is not a file; move it away, and the same command runs again")
    if not run.metrics.is_file() or config.overwrite:
        return False
    before, wanted = _read_recipe(run.folder / "recipe.json"), recipe(config, train, validation)
    if digest(before) != digest(wanted):
        changed = ", ".join(outputs.differences(before, wanted))
        raise FiglangError(
            f"{run.folder} holds a finished run with other settings ({changed}); overwrite=true replaces it"
        )
    if not config.skip_finished:
        raise FiglangError(
            f"{run.folder} holds a finished run; overwrite=true replaces it, run=FOLDER or another seed "
            "makes a new one"
        )
    if run.checkpoint.parent.exists():  # left by a process that was killed after it had written everything
        with folders.locked(run.folder, "run=FOLDER"):
            shutil.rmtree(run.checkpoint.parent, ignore_errors=True)
    return True


@contextmanager
def claim(config: TrainConfig, train: Split, validation: Split) -> Iterator[Run]:
    """Lock a run folder. Earlier state in it is kept for resuming, or removed.

    Raises:
        FiglangError: If another process works in it, or if it holds trained weights of an unfinished run with
            other settings.
    """
    run = Run(Path(config.run or ""))
    if rank() != 0:  # a process that the first one started; the folder is already locked
        yield run
        return
    with folders.locked(run.folder, "run=FOLDER"):
        if run.metrics.is_file() and not config.overwrite:
            raise FiglangError(
                f"{run.folder} was meanwhile finished by another process; the same command shows its result"
            )
        for part in FOLDERS:
            folders.check_place(run.folder / part)
        wanted = recipe(config, train, validation)
        # Only a folder in which a run of figlang began is cleared, because `run=` may name any folder.
        if (config.overwrite or config.resume == "never") and (run.folder / "recipe.json").is_file():
            _clear(run)
        else:
            _check_same(run, wanted)
        write_text(run.folder / "recipe.json", json.dumps(wanted, indent=2) + "\n")
        unfinished.begin(run.folder, config.data.file)
        yield run
        shutil.rmtree(run.checkpoint.parent, ignore_errors=True)


def _clear(run: Run) -> None:
    """Remove what trainings wrote, and the evaluations and reports of a run. The user's own files stay.

    metrics.json goes first, because it says that the rest is complete. recipe.json stays: it marks a run
    folder.
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
    """Check that a folder is free for a run.

    Raises:
        FiglangError: It holds other files, or the trained weights of an unfinished run with other settings.
    """
    path = run.folder / "recipe.json"
    if not path.is_file():
        if any(entry.name != folders.LOCK for entry in run.folder.iterdir()):
            raise FiglangError(f"{run.folder} holds files that do not belong to a run; choose run=FOLDER")
        return
    before = _read_recipe(path)
    if digest(before) != digest(wanted):
        if not run.model.exists() and not any(run.checkpoint.parent.glob("*.ckpt")):
            _clear(run)  # it was stopped before it had trained anything
            return
        changed = ", ".join(outputs.differences(before, wanted))
        raise FiglangError(
            f"{run.folder} holds an unfinished run with other settings ({changed}); overwrite=true "
            "starts it again"
        )


def _read_recipe(path: Path) -> dict[str, Any]:
    return stored.document(path, stored.RECIPE, "overwrite=true starts the run again")
