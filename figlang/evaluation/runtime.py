"""Hardware and libraries: seeds, threads, precision, device, the Lightning Trainer with its loggers."""

import logging
import os
import random
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from transformers.utils.logging import disable_progress_bar

from figlang.config import TrainConfig, TrainerConfig
from figlang.cpu.memory import keep_freed_memory, keep_little_code
from figlang.errors import FiglangError
from figlang.machine.loggers import LIBRARIES
from figlang.machine.rank import rank
from figlang.text.amounts import counted, form

log = logging.getLogger("figlang")
Training = TypeVar("Training", bound=TrainConfig)
SHOWN = 5


def start(seed: int, settings: TrainerConfig) -> None:
    """Set seeds and threads, and silence libraries. Call it before a network is built, since new heads are
    random."""
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.ERROR)
    # One process, in-memory data: workers would only copy it; and a single process needs no strategy.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message=".*Checkpoint directory .* exists and is not empty.*")
    warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.*")
    warnings.filterwarnings("ignore", message=".*DeepSpeed handles gradient clipping internally.*")
    warnings.filterwarnings("ignore", message=".*all_gather_into_tensor. is deprecated.*")
    # figlang's own data loader is resumable, see ChoiceData.
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    disable_progress_bar()
    keep_freed_memory()
    keep_little_code()
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if torch.cuda.is_available() else "cpu")
    if rank() != 0:
        log.setLevel(logging.ERROR)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    _seed(seed)


def _seed(seed: int) -> None:
    """Set the seeds that Lightning's seed_everything sets, without its slow import."""
    os.environ.update(PL_GLOBAL_SEED=str(seed), PL_SEED_WORKERS="0")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def log_notes(notes: Sequence[str]) -> None:
    """Log the first notes about the data, and the number of the others."""
    for note in notes[:SHOWN]:
        log.info("data: %s", note)
    if more := len(notes[SHOWN:]):
        log.info("data: %s %s in metrics.json", counted(more, "more note"), form(more, "is", "are"))


def settled(config: Training) -> Training:
    """Replace `auto` by the Trainer's precision, so that the recipe holds it: scores depend on it."""
    return replace(config, trainer=replace(config.trainer, precision=_precision(config.trainer)))


def _precision(settings: TrainerConfig) -> str:
    """`auto` is bf16 autocast where the device has bf16 arithmetic, else float32."""
    if settings.precision != "auto":
        return settings.precision
    if settings.accelerator != "cpu" and torch.cuda.is_available():
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    elif settings.accelerator in ("cpu", "auto"):
        capabilities = torch.cpu.get_capabilities()
        fast = bool(
            capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") or capabilities.get("bf16")
        )
    else:
        fast = False
    return "bf16-mixed" if fast else "32-true"


def device(settings: TrainerConfig) -> torch.device:
    """The device of an evaluation. Raises FiglangError if this machine does not have it."""
    here = {"gpu": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not here.get(settings.accelerator, True):
        raise FiglangError(
            f"trainer.accelerator={settings.accelerator} is not on this machine; use trainer=cpu"
        )
    if settings.accelerator == "gpu" or (settings.accelerator == "auto" and torch.cuda.is_available()):
        return torch.device("cuda")
    return torch.device("mps" if settings.accelerator == "mps" else "cpu")
