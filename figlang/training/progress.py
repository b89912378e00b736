"""The progress of a training: a bar of one line, and an estimate of the time that it will take."""

import logging
from time import perf_counter
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import RichProgressBar
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from figlang.machine.bars import drawn_on
from figlang.text.amounts import duration

BAR = 24  # characters: with the columns beside it, a line of 80 is not full
FIRST, EVERY = 15.0, 60.0  # seconds before the first estimate, and between the later ones


def shown(wanted: bool, logger: logging.Logger) -> list[Callback]:
    """The callbacks that show a training.

    Args:
        wanted: Show bars, if standard error is a terminal.
        logger: Takes the estimates.
    """
    bars = wanted and drawn_on(Console(stderr=True))
    pace = Pace(logger, again=not bars)
    return [pace, OneLine()] if bars else [pace]


class OneLine(RichProgressBar):
    """Lightning's bar in one line. The metrics of an epoch stand in the log at its end."""

    def __init__(self) -> None:
        super().__init__(leave=False, console_kwargs={"stderr": True})

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        return {}

    def configure_columns(self, trainer: Trainer) -> list[ProgressColumn]:
        return [
            TextColumn("{task.description}"),
            BarColumn(BAR),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        ]

    def _get_train_description(self, current_epoch: int) -> str:
        return f"epoch {current_epoch + 1} of {self.trainer.max_epochs}"


class Pace(Callback):
    """Says how long the training will take at the rate of its steps so far.

    The first step is not counted, since it also prepares. Nothing is said of a training that ends within a
    minute.

    Args:
        logger: Takes the lines.
        again: Also say it every minute, for logs without a bar.
    """

    def __init__(self, logger: logging.Logger, again: bool) -> None:
        self.logger, self.again = logger, again
        self._first: tuple[float, int] | None = None
        self._next = FIRST

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._first, self._next = None, FIRST

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        now, step = perf_counter(), trainer.global_step
        if self._first is None:
            self._first = now, step
            return
        began, before = self._first
        if now - began < self._next or step == before:
            return
        last = int(trainer.estimated_stepping_batches)
        left = (now - began) / (step - before) * (last - step)
        if self._next > FIRST or left >= EVERY:
            epoch = trainer.current_epoch + 1
            text = "step %d of %d, epoch %d of %s: about %s left at this rate"
            self.logger.info(text, step, last, epoch, trainer.max_epochs, duration(left))
        self._next = now - began + EVERY if self.again else float("inf")
