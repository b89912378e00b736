"""The Lightning Trainer of a run, with its loggers and the files that it keeps."""

import logging
import warnings
from pathlib import Path
from typing import Any, BinaryIO, cast

import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar
from pytorch_lightning.plugins import TorchCheckpointIO
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from figlang.config import TrainConfig
from figlang.errors import FiglangError, one_line
from figlang.files.whole import whole_file
from figlang.runs.training import Run
from figlang.training import progress, selection, tracking
from figlang.training.strategies import SHARDED, ZERO, places, strategy

log = logging.getLogger("figlang")


class WholeStates(TorchCheckpointIO):
    """Saves a state beside its place and renames it.

    Lightning uses fsspec, which writes to the system's temporary folder and copies if that is another disk.
    After a full disk or a kill, half a state would stand in place of the last complete one.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        for leftover in Path(path).parent.glob(f".{Path(path).name}.*"):  # left by a killed process
            leftover.unlink()
        with whole_file(Path(path)) as beside, beside.open("wb") as file:
            writing = _Writing(file)
            try:
                torch.save(checkpoint, cast(Any, writing))
            except RuntimeError as error:
                # torch says only that a write failed.
                raise writing.fault or error from error


class _Writing:
    """A file that keeps the error of a write. A copy of a whole state in memory would take as much again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.fault: OSError | None = None

    def write(self, content: Any) -> int:
        try:
            return self._file.write(content)
        except OSError as error:
            self.fault = error
            raise

    def flush(self) -> None:
        self._file.flush()


def trainer(config: TrainConfig, run: Run, callbacks: list[Callback]) -> Trainer:
    """Lightning's Trainer for a run.

    It saves a checkpoint after every epoch, and its only logs are figlang's and those of the trackers.

    Raises:
        FiglangError: With Lightning's words, for a device or strategy that is not available.
    """
    settings = config.trainer
    saver = ModelCheckpoint(
        run.checkpoint.parent, run.checkpoint.stem, save_on_train_epoch_end=True, enable_version_counter=False
    )
    keeping = selection.callbacks(run, config.method, settings.strategy in SHARDED)
    watching = progress.shown(settings.progress, log)
    bars = any(isinstance(each, RichProgressBar) for each in watching)
    devices, nodes = places(settings)
    loggers = tracking.start(config, run)
    return built(
        accelerator=settings.accelerator,
        devices=devices,
        num_nodes=nodes,
        strategy=strategy(settings),
        # DeepSpeed clips gradients itself, if it is told here. Otherwise the module clips.
        gradient_clip_val=config.method.clip if settings.strategy in ZERO else None,
        precision=settings.precision,
        max_epochs=config.method.epochs,
        # Under SLURM, a new fit would resume from any hpc_ckpt_1.ckpt in the working directory.
        default_root_dir=run.checkpoint.parent,
        logger=loggers or False,
        plugins=[WholeStates()],
        # History and Health come first, so that the checkpoint which follows holds their state of this
        # epoch.
        callbacks=[*callbacks, *keeping, saver, *watching],
        enable_progress_bar=bars,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        log_every_n_steps=1,
        use_distributed_sampler=False,
    )


def built(**settings: Any) -> Trainer:
    """Lightning's Trainer. It does not warn about a GPU that the settings leave alone.

    Raises:
        FiglangError: With Lightning's words, for a device or strategy that is not available.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*GPU available but not used.*")
            return Trainer(**settings)
    except (ValueError, RuntimeError, ImportError, TypeError, MisconfigurationException) as error:
        raise FiglangError(f"trainer: {one_line(error)}") from error
