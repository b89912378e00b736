"""Run folders: one deterministic place for everything a run writes, claimed by one process at a time."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pytorch_lightning.utilities import rank_zero_only

from figlang.config import EvaluateConfig, TrainConfig
from figlang.errors import FiglangError, one_line
from figlang.exports.checkpoint import ancestry
from figlang.exports.recipe import RECIPE
from figlang.files import write_text
from figlang.redaction import redacted_values
from figlang.signature import digest
from figlang.types import Split

# What does not change a result, so that it may differ between a run and its continuation.
FREE = ("run", "resume", "overwrite", "skip_finished", "also", "blind", "paths", "logger")


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
        """Weights that are exported, if not those in memory: of the epoch with the least selection loss, or gathered from several
        processes; removed when the run is finished."""
        return self.folder / "checkpoints" / "best.ckpt"

    @property
    def figures(self) -> Path:
        return self.folder / "figures"


def recipe(config: TrainConfig, train: Split, validation: Split) -> dict[str, Any]:
    """Everything that determines a run's result: its settings, without secrets as they are written, the hashes of its data, and
    which items these are, since a test file decides too which of them are trained on (near-duplicates are not).

    Where training goes on from a run or an export, also what identifies that one: its folder may come to hold another.
    """
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    if config.model.family != "causal":
        settings["model"]["bos"] = "none"  # an encoder has none; finished runs of before model.bos=auto say so
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
    folder = Path(config.run or "")
    if not (folder / "metrics.json").is_file() or config.overwrite:
        return False
    if not config.skip_finished:
        raise FiglangError(f"{folder} holds a finished run; overwrite=true replaces it, run=FOLDER or another seed makes a new one")
    before, wanted = _read_recipe(folder / "recipe.json"), recipe(config, train, validation)
    if digest(before) != digest(wanted):
        changed = ", ".join(_differences(before, wanted))
        raise FiglangError(f"{folder} holds a finished run with other settings ({changed}); overwrite=true replaces it")
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
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(run.folder / ".lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise FiglangError(f"another process is working in {run.folder}; wait for it, or choose run=FOLDER") from error
    except OSError as error:
        raise FiglangError(f"cannot write to {run.folder} ({error.strerror}); choose another folder with paths.runs=DIR") from error
    try:
        if run.metrics.is_file() and not config.overwrite:
            raise FiglangError(f"{run.folder} was finished by another process meanwhile; skip_finished=true shows its result")
        wanted = recipe(config, train, validation)
        if config.overwrite or config.resume == "never":
            _clear(run)
        _check_same(run, wanted)
        write_text(run.folder / "recipe.json", json.dumps(wanted, indent=2) + "\n")
        yield run
        shutil.rmtree(run.checkpoint.parent, ignore_errors=True)
    finally:
        lock.release()


def evaluation_place(config: EvaluateConfig) -> Path:
    """Where an evaluation goes: `output`, else `name` in the run folder, else `name` below the folder of runs."""
    name = config.name or f"{config.data.name}-{config.split}"
    elsewhere = Path(config.paths.runs) / "evaluations"
    if config.output is not None:
        return Path(config.output)
    if config.checkpoint is None:
        return elsewhere / config.model.name / name
    if (Path(config.checkpoint) / "recipe.json").is_file():
        return Path(config.checkpoint) / "evaluations" / name
    return elsewhere / _flat(config.checkpoint) / name


def _flat(checkpoint: str) -> str:
    """A checkpoint's name as that of a folder: folders of one name in two places have two."""
    folder = Path(checkpoint).expanduser().resolve()
    if folder.exists():
        checkpoint = str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)
    return checkpoint.strip("/.~").replace("/", "~").replace(":", "~")


def evaluation_folder(config: EvaluateConfig) -> Path:
    """The folder of an evaluation, made. Raises FiglangError if it cannot be, or is that of a training or a checkpoint."""
    folder = evaluation_place(config)
    # Both have a metrics.json and predictions of their own, which took longer to make than those of an evaluation.
    if any((folder / file).is_file() for file in (RECIPE, "recipe.json")):
        raise FiglangError(f"{folder} is a training's or a checkpoint's, whose results stay; choose another folder with output=DIR")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FiglangError(f"cannot write to {folder} ({error.strerror}); choose another folder with output=DIR") from error
    return folder


def _clear(run: Run) -> None:
    # Only a folder that a run of ours began in is cleared: `run=` may name any folder.
    if (run.folder / "recipe.json").is_file():
        for entry in run.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != ".lock":
                entry.unlink()


def _check_same(run: Run, wanted: dict[str, Any]) -> None:
    path = run.folder / "recipe.json"
    if not path.is_file():
        if any(entry.name != ".lock" for entry in run.folder.iterdir()):
            raise FiglangError(f"{run.folder} holds files that are not of a run; choose run=FOLDER")
        return
    before = _read_recipe(path)
    if digest(before) != digest(wanted):
        changed = ", ".join(_differences(before, wanted))
        raise FiglangError(f"{run.folder} holds an unfinished run with other settings ({changed}); overwrite=true starts it anew")


def _read_recipe(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); overwrite=true starts the run anew") from error
    return content


def _differences(before: Any, wanted: Any, name: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(wanted, dict):
        for key in sorted(before.keys() | wanted.keys()):
            yield from _differences(before.get(key), wanted.get(key), f"{name}.{key}".lstrip("."))
    elif before != wanted:
        yield f"{name.removeprefix('settings.')}: {before} → {wanted}"
