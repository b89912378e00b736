"""Hardware and libraries: seeds, threads, precision, device, the Lightning Trainer with its loggers."""

import io
import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from pytorch_lightning import Callback, Trainer, seed_everything
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar
from pytorch_lightning.plugins import TorchCheckpointIO
from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from transformers.utils.logging import disable_progress_bar

from figlang.config import TrainConfig, TrainerConfig
from figlang.cpu.memory import keep_freed_memory
from figlang.errors import FiglangError, one_line
from figlang.files import whole_file
from figlang.runs import Run
from figlang.strategies import SHARDED, ZERO, places, strategy
from figlang.training import selection, tracking

log = logging.getLogger("figlang")
SHOWN = 5


def start(seed: int, settings: TrainerConfig) -> None:
    """Seeds, threads and quiet libraries; call before a network is built, since new heads are random."""
    for name in ("pytorch_lightning", "lightning", "transformers", "datasets", "httpx", "httpx2", "openai", "bitsandbytes"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # One process, in-memory data: workers would only copy it; and a single process needs no strategy.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message=".*GPU available but not used.*")
    warnings.filterwarnings("ignore", message=".*Checkpoint directory .* exists and is not empty.*")
    warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.*")
    warnings.filterwarnings("ignore", message=".*DeepSpeed handles gradient clipping internally.*")
    warnings.filterwarnings("ignore", message=".*all_gather_into_tensor. is deprecated.*")
    # Ours is, see ChoiceData.
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    disable_progress_bar()
    keep_freed_memory()
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if torch.cuda.is_available() else "cpu")
    if rank_zero_only.rank != 0:
        log.setLevel(logging.ERROR)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    seed_everything(seed, verbose=False)


def log_notes(notes: Sequence[str]) -> None:
    """The first notes about the data, and how many more there are."""
    for note in notes[:SHOWN]:
        log.info("data: %s", note)
    if len(notes) > SHOWN:
        log.info("data: %d more notes are in metrics.json", len(notes) - SHOWN)


def settled(config: TrainConfig) -> TrainConfig:
    """A configuration with the Trainer's precision in place of `auto`: a number depends on it, and so its recipe has to say it."""
    return replace(config, trainer=replace(config.trainer, precision=_precision(config.trainer)))


def _precision(settings: TrainerConfig) -> str:
    """`auto` is bf16 autocast where the device has bf16 arithmetic, else float32."""
    if settings.precision != "auto":
        return settings.precision
    if settings.accelerator != "cpu" and torch.cuda.is_available():
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    elif settings.accelerator in ("cpu", "auto"):
        capabilities = torch.cpu.get_capabilities()
        fast = bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") or capabilities.get("bf16"))
    else:
        fast = False
    return "bf16-mixed" if fast else "32-true"


def device(settings: TrainerConfig) -> torch.device:
    """Where an evaluation runs: one device.

    Raises FiglangError if it is not here.
    """
    here = {"gpu": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not here.get(settings.accelerator, True):
        raise FiglangError(f"trainer.accelerator={settings.accelerator} is not on this machine; use trainer=cpu")
    if settings.accelerator == "gpu" or (settings.accelerator == "auto" and torch.cuda.is_available()):
        return torch.device("cuda")
    return torch.device("mps" if settings.accelerator == "mps" else "cpu")


class WholeStates(TorchCheckpointIO):
    """Saves a state beside its place and renames it.

    Lightning's way, by fsspec, writes to the system's temporary folder and copies where that is another disk: a full one, or a
    kill, then leaves half a state in place of the last whole one.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        # In memory first: torch words a write that fails as an error of its own.
        content = io.BytesIO()
        torch.save(checkpoint, content)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        for leftover in Path(path).parent.glob(f".{Path(path).name}.*"):  # of a process that was killed
            leftover.unlink()
        with whole_file(Path(path)) as beside:
            beside.write_bytes(content.getbuffer())


def trainer(config: TrainConfig, run: Run, callbacks: list[Callback]) -> Trainer:
    """Lightning's Trainer for a run: one checkpoint after every epoch, no other logs than ours and W&B's.

    Raises FiglangError with Lightning's words for a device or strategy that is not here.
    """
    settings = config.trainer
    saver = ModelCheckpoint(run.checkpoint.parent, run.checkpoint.stem, save_on_train_epoch_end=True, enable_version_counter=False)
    keeping = selection.callbacks(run, config.method, settings.strategy in SHARDED)
    bars: list[Callback] = [RichProgressBar(leave=False)] if settings.progress else []
    devices, nodes = places(settings)
    logger = tracking.logger(config, run)
    try:
        return Trainer(
            accelerator=settings.accelerator,
            devices=devices,
            num_nodes=nodes,
            strategy=strategy(settings),
            # DeepSpeed clips by itself and only if told here; the module clips otherwise.
            gradient_clip_val=config.method.clip if settings.strategy in ZERO else None,
            precision=cast(Any, settings.precision),
            max_epochs=config.method.epochs,
            # Under SLURM a new fit would go on from any hpc_ckpt_1.ckpt of the working directory.
            default_root_dir=run.checkpoint.parent,
            logger=logger,
            plugins=[WholeStates()],
            # History and Health come first: the checkpoint that follows them holds their state of this epoch.
            callbacks=[*callbacks, *keeping, saver, *bars],
            enable_progress_bar=settings.progress,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            log_every_n_steps=1,
            use_distributed_sampler=False,
        )
    except (ValueError, RuntimeError, ImportError, TypeError, MisconfigurationException) as error:
        raise FiglangError(f"trainer: {one_line(error)}") from error
