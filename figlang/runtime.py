"""Hardware and the training loop: precision, threads, seeds, the Lightning Trainer, resuming."""

import logging
import os
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import torch
from peft import PeftModel
from pytorch_lightning import Callback, Trainer, seed_everything
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar
from pytorch_lightning.loggers import Logger, WandbLogger
from pytorch_lightning.utilities import rank_zero_only
from transformers import PreTrainedModel
from transformers.utils.logging import disable_progress_bar

from figlang.callbacks import Health, History
from figlang.config import TrainConfig, TrainerConfig
from figlang.data.datamodule import ChoiceData
from figlang.errors import FiglangError
from figlang.models.contrastive import ContrastiveModule
from figlang.models.embedding import restore, trim
from figlang.models.networks import head_modules
from figlang.runs import Run
from figlang.signature import digest
from figlang.strategies import ZERO_STAGES, strategy
from figlang.training import Prepared

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Fitted:
    """What a fit reports besides the weights."""

    items: int
    precision: str
    seconds: float
    examples_per_second: float
    parameters: int
    trained: int
    steps: int
    epochs: int
    health: list[dict[str, Any]]
    history: list[tuple[int, int, str, str, float]]

    def facts(self) -> dict[str, Any]:
        """For metrics.json: everything but the curves, which are in log.csv, and the health, which stands on its own."""
        return {name: value for name, value in asdict(self).items() if name not in ("history", "health")}


def start(seed: int, trainer: TrainerConfig) -> None:
    """Seeds, threads and quiet libraries; call before a network is built, since new heads are random."""
    for name in ("pytorch_lightning", "lightning", "transformers", "datasets", "httpx"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # One process, in-memory data: workers would only copy it; and a single process needs no strategy.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message=".*GPU available but not used.*")
    warnings.filterwarnings("ignore", message=".*Checkpoint directory .* exists and is not empty.*")
    warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.*")
    warnings.filterwarnings("ignore", message=".*DeepSpeed handles gradient clipping internally.*")
    warnings.filterwarnings("ignore", message=".*all_gather_into_tensor. is deprecated.*")
    disable_progress_bar()
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if torch.cuda.is_available() else "cpu")
    if rank_zero_only.rank != 0:
        log.setLevel(logging.ERROR)
    if trainer.threads is not None:
        torch.set_num_threads(trainer.threads)
    seed_everything(seed, verbose=False)


def precision(trainer: TrainerConfig) -> str:
    """The Trainer's precision; `auto` is bf16 autocast where the device has bf16 arithmetic, else float32."""
    if trainer.precision != "auto":
        return trainer.precision
    if trainer.accelerator != "cpu" and torch.cuda.is_available():
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    elif trainer.accelerator in ("cpu", "auto"):
        capabilities = torch.cpu.get_capabilities()
        fast = bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") or capabilities.get("bf16"))
    else:
        fast = False
    return "bf16-mixed" if fast else "32-true"


def device(trainer: TrainerConfig) -> torch.device:
    """Where an evaluation runs: one device."""
    if trainer.accelerator == "gpu" or (trainer.accelerator == "auto" and torch.cuda.is_available()):
        return torch.device("cuda")
    return torch.device("mps" if trainer.accelerator == "mps" else "cpu")


def fit(config: TrainConfig, run: Run, ready: Prepared) -> Fitted | None:
    """Train the prepared network in place, from the run's checkpoint if it has one.

    Returns None in the processes of a distributed fit that have nothing left to do.
    """
    network, train, validation = ready.network, ready.encoded_train, ready.encoded_validation
    method = config.method
    data = ChoiceData(ready.encoder, train, validation, method.batch_size, method.max_tokens, config.seed)
    steps = len(data.buckets) * method.epochs
    # Decay would move every row of the embedding; without it only the rows in use ever change.
    used = {token for example in (*train, *validation) for ids in example.sequences for token in ids}
    parameters = sum(parameter.numel() for parameter in network.parameters())
    trained = sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)
    whole = trim(network, used) if method.weight_decay == 0 and isinstance(network, PreTrainedModel) else None
    module = ContrastiveModule(network, method, steps, config.seed)
    history = History(run.folder / "log.csv", ready.validation.items, log)
    chance = sum(1 / len(example.option_rows) for example in train) / len(train)
    health = Health(history, chance, _head(network), log)
    chosen = precision(config.trainer)
    trainer = _trainer(config, run, chosen, [history, health])
    resumed = run.checkpoint if run.checkpoint.exists() else None
    log.info(
        "training %s on %s: %d items, %d epochs of %d steps, %s",
        config.model.name,
        config.data.name,
        len(train),
        method.epochs,
        len(data.buckets),
        chosen,
    )
    if resumed:
        log.info("resuming from %s", resumed)
    started = perf_counter()
    try:
        trainer.fit(module, datamodule=data, ckpt_path=str(resumed) if resumed else None, weights_only=True)
    except (RuntimeError, EOFError, OSError) as error:
        if resumed and not trainer.global_step:
            raise FiglangError(
                f"{resumed} cannot be resumed from ({_first_line(error)}); overwrite=true starts the run anew"
            ) from error
        raise
    if trainer.interrupted:
        raise FiglangError(f"interrupted; the same command continues {run.folder} after its last whole epoch")
    if not trainer.is_global_zero:
        return None
    if whole is not None:
        restore(network, whole)
    network.to("cpu").eval()
    seconds = history.seconds or perf_counter() - started
    return Fitted(
        len(train),
        chosen,
        seconds,
        len(train) * method.epochs / seconds,
        parameters,
        trained,
        steps,
        method.epochs,
        health.findings,
        history.rows,
    )


def _head(network: torch.nn.Module) -> list[torch.nn.Parameter]:
    plain = network.get_base_model() if isinstance(network, PeftModel) else network
    heads = head_modules(cast(PreTrainedModel, plain))
    return [
        parameter for name, parameter in plain.named_parameters() if name.split(".")[0] in heads and "original_module" not in name
    ]


def _trainer(config: TrainConfig, run: Run, precision: str, callbacks: list[Callback]) -> Trainer:
    settings = config.trainer
    saver = ModelCheckpoint(run.checkpoint.parent, run.checkpoint.stem, save_on_train_epoch_end=True, enable_version_counter=False)
    bars: list[Callback] = [RichProgressBar(leave=False)] if settings.progress else []
    try:
        return Trainer(
            accelerator=settings.accelerator,
            devices=int(settings.devices) if settings.devices.isdigit() else settings.devices,
            strategy=strategy(settings),
            # DeepSpeed clips by itself and only if told here; the module clips otherwise.
            gradient_clip_val=config.method.clip if settings.strategy in ZERO_STAGES else None,
            precision=cast(Any, precision),
            max_epochs=config.method.epochs,
            logger=_logger(config, run),
            # History and Health come first: the checkpoint that follows them holds their state of this epoch.
            callbacks=[*callbacks, saver, *bars],
            enable_progress_bar=settings.progress,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            log_every_n_steps=1,
            use_distributed_sampler=False,
        )
    except (ValueError, RuntimeError, ImportError) as error:  # Lightning's words for a device or strategy that is not here
        raise FiglangError(f"trainer: {_first_line(error)}") from error


def _logger(config: TrainConfig, run: Run) -> Logger | bool:
    if config.logger.name == "csv":
        return False  # log.csv is History's
    offline = config.logger.mode == "offline"
    if config.logger.mode == "disabled":
        return False
    name = str(Path(run.folder).name if run.folder.parent.name in ("", ".") else run.folder.relative_to(run.folder.parent.parent))
    # The id is a function of the folder, so that a resumed run goes on in the same W&B run.
    identifier = digest(str(run.folder.resolve()))
    try:
        return WandbLogger(
            name=name, id=identifier, project=config.logger.project, save_dir=run.folder, offline=offline, resume="allow"
        )
    except ModuleNotFoundError as error:
        raise FiglangError("logger=wandb needs the wandb package; install it with `pip install figlang[wandb]`") from error


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
