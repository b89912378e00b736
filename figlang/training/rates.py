"""Learning rates tried one after the other, by Lightning's finder (Smith 2017, arXiv 1506.01186).

Each step has a higher rate than the one before. The loss is a moving average, and its steepest fall is
suggested as the rate.
"""

import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytorch_lightning import Trainer
from pytorch_lightning.tuner import Tuner, lr_finder

from figlang.config import FindLrConfig
from figlang.cpu.hasten import hasten, release
from figlang.training import fitting, saving
from figlang.training.base import ChoiceModule, NonFiniteLossError
from figlang.training.preparation import Prepared
from figlang.training.trainer import built

log = logging.getLogger("figlang")
NEVER = 10**9  # epochs


@dataclass(frozen=True)
class Found:
    """The results of the search.

    Attributes:
        rates: The learning rate of each step.
        losses: The moving average of the loss after each step; nan if the loss was not a number.
        chosen: The step whose rate is suggested; None if there were too few.
    """

    rates: list[float]
    losses: list[float]
    chosen: int | None


def find(config: FindLrConfig, ready: Prepared, folder: Path) -> Found:
    """Try the rates on the prepared network, whose weights change.

    Args:
        config: A settled configuration (see runtime).
        ready: The network and the encoded data.
        folder: Where the first weights are kept meanwhile.

    Raises:
        FiglangError: If the device is not there.
    """
    method = saving.settled(ready.network, config.method)
    batches, _ = fitting.batches_of(config, ready)
    saving.begin(ready.network, method)
    module = ready.kind(ready.network, method, ready.score, config.steps, config.seed)
    _bear(module)
    # Lightning's finder ends before it calls `on_fit_start`.
    module.train()
    trainer = _trainer(config, folder)
    if trainer.strategy.root_device.type == "cpu":
        hasten(ready.network)
    # Its bar has no switch.
    lr_finder.tqdm = partial(lr_finder.tqdm, disable=True)  # type: ignore[misc, assignment]
    finder = Tuner(trainer).lr_find(
        module,
        datamodule=batches,
        min_lr=config.lowest,
        max_lr=config.highest,
        num_training=config.steps,
        update_attr=False,
    )
    release(ready.network)
    assert finder is not None, "there is no fast_dev_run"
    rates, losses = finder.results["lr"], finder.results["loss"]
    suggested = finder.suggestion()
    return Found(rates, losses, None if suggested is None else rates.index(suggested))


def _bear(module: ChoiceModule) -> None:
    """Let a loss that is not a number end the search, and not the command."""
    step = module.training_step

    def borne(batch: Any, batch_idx: int) -> Any:
        try:
            return step(batch, batch_idx)
        except NonFiniteLossError:
            module.trainer.should_stop = True
            return None

    module.training_step = borne  # type: ignore[method-assign, assignment]


def _trainer(config: FindLrConfig, folder: Path) -> Trainer:
    settings = config.trainer
    return built(
        accelerator=settings.accelerator,
        devices=1,
        precision=settings.precision,
        max_epochs=-1,
        check_val_every_n_epoch=NEVER,
        default_root_dir=folder,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
