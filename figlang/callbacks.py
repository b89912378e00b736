"""What is watched during fit: the history of losses and accuracies, and the health of the training."""

import csv
import logging
from math import isfinite, nan
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from scipy.stats import binomtest
from torch import Tensor, nn
from torchmetrics import MeanMetric, SumMetric

from figlang.errors import FiglangError
from figlang.evaluation import prediction
from figlang.metrics import accuracy, pair_accuracy
from figlang.models.base import SELECTION
from figlang.types import Item

SHOWN = (
    ("train", "loss"),
    ("train", "accuracy"),
    ("selection", "loss"),
    ("validation", "accuracy"),
    ("validation", "pair_accuracy"),
)


class History(Callback):
    """Loss and accuracy of every epoch, and the loss of at most some 500 steps, in log.csv.

    Rows are (step, epoch, split, metric, value). They are part of the checkpoint, so that a resumed run's log is whole;
    Lightning's CSV logger would begin a new file. `train_accuracy` and `seen`, the choices it is a share of, are those of
    the last epoch, dropout on; `seen` is 0 where training makes no choices.
    """

    def __init__(self, path: Path, validation: tuple[Item, ...], logger: logging.Logger) -> None:
        self.path = path
        self.logger = logger
        self.validation = validation
        self.rows: list[tuple[int, int, str, str, float]] = []
        self.seconds = 0.0
        self._loss, self._accuracy, self._seen = MeanMetric(), MeanMetric(), SumMetric()
        self.train_accuracy = 0.0
        self.seen = 0
        self._scores: dict[int, Tensor] = {}

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "seconds": self.seconds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rows = [tuple(row) for row in state["rows"]]
        self.seconds = state["seconds"]

    def on_train_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._started = perf_counter()
        for metric in (self._loss, self._accuracy, self._seen):
            metric.reset()
            metric.to(module.device)

    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int) -> None:
        self._loss.update(outputs["loss"].detach(), weight=outputs["cases"])
        choices = "correct" in outputs
        self._seen.update(outputs["cases"] if choices else 0)
        if choices:
            self._accuracy.update(outputs["correct"] / outputs["cases"], weight=outputs["cases"])
        if trainer.global_step % max(1, int(trainer.estimated_stepping_batches) // 500) == 0:
            self._add(trainer, "train", "step_loss", float(outputs["loss"]))
            self._add(trainer, "train", "lr", trainer.optimizers[0].param_groups[0]["lr"])

    def on_validation_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._scores = {}

    def on_validation_batch_end(self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, *_: Any) -> None:
        if "scores" not in outputs:
            return
        self._scores.update(zip(outputs["positions"], outputs["scores"].cpu(), strict=True))

    def on_validation_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        rows = [prediction(item, self._scores[position]) for position, item in enumerate(self.validation)]
        for metric in (accuracy, pair_accuracy) if all(item.paired for item in self.validation) else (accuracy,):
            if (estimate := metric(rows)) is not None:
                self._add(trainer, "validation", metric.__name__, estimate.value)
                module.log(f"val/{metric.__name__}", estimate.value, prog_bar=True, sync_dist=True)

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        self.seconds += perf_counter() - self._started
        # Over all processes: torchmetrics gathers when it computes.
        loss, self.seen = float(self._loss.compute()), int(self._seen.compute())
        self.train_accuracy = float(self._accuracy.compute()) if self.seen else nan
        if not isfinite(loss):
            raise FiglangError(
                f"the loss is {loss} in epoch {trainer.current_epoch + 1}; lower method.lr and run with overwrite=true"
            )
        self._add(trainer, "train", "loss", loss)
        module.log("train/loss", loss, prog_bar=True, sync_dist=True)
        if self.seen:
            self._add(trainer, "train", "accuracy", self.train_accuracy)
            module.log("train/accuracy", self.train_accuracy, sync_dist=True)
        if SELECTION in trainer.callback_metrics:
            self._add(trainer, "selection", "loss", float(trainer.callback_metrics[SELECTION]))
        if not trainer.is_global_zero:
            return
        latest = {row[2:4]: row[4] for row in self.rows}
        shown = ", ".join(
            f"{split} {metric.replace('_', ' ')} {latest[split, metric]:.3f}"
            for split, metric in SHOWN
            if (split, metric) in latest
        )
        self.logger.info("epoch %d of %s: %s", trainer.current_epoch + 1, trainer.max_epochs, shown)
        with self.path.open("w", newline="") as file:
            csv.writer(file).writerows([("step", "epoch", "split", "metric", "value"), *self.rows])

    def _add(self, trainer: Trainer, split: str, metric: str, value: float) -> None:
        self.rows.append((trainer.global_step, trainer.current_epoch, split, metric, value))


class Health(Callback):
    """Notices trainings that look fine and are not; each finding is one sentence for one epoch (from 1).

    - dropout off: training steps run in eval mode, or no dropout is set;
    - head frozen: the new head does not train;
    - collapsed: after an epoch the training accuracy cannot be told from guessing (two-sided exact binomial, p > 0.01), as
      large encoders do on some seeds.
    """

    def __init__(self, history: History, chance: float, head: list[nn.Parameter], logger: logging.Logger) -> None:
        self.history = history
        self.chance = chance
        self.head = head
        self.logger = logger
        self.findings: list[dict[str, Any]] = []
        self._before: list[Tensor] = []

    def state_dict(self) -> dict[str, Any]:
        return {"findings": self.findings}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.findings = list(state["findings"])

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._before = [parameter.detach().clone() for parameter in self.head]

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, index: int) -> None:
        if index == 0:
            drops = [layer.training and layer.p > 0 for layer in module.modules() if isinstance(layer, nn.Dropout)]
            # Llama and its like have no dropout to switch on.
            if drops and not any(drops):
                self._find(trainer, "dropout_off", "dropout is off in training; a published recipe usually has it on")

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        moved = [not torch.equal(before, now.detach()) for before, now in zip(self._before, self.head, strict=True)]
        # Not all: a bias that is common to all options has no gradient under softmax.
        if self.head and not any(moved):
            self._find(trainer, "head_frozen", "the choice head did not change in an epoch: it is frozen or gets no gradient")
        self._before = [parameter.detach().clone() for parameter in self.head]
        if not self.history.seen:
            return
        right = round(self.history.train_accuracy * self.history.seen)
        if binomtest(right, self.history.seen, self.chance).pvalue > 0.01:
            share = f"{self.history.train_accuracy:.1%} of {self.history.seen}"
            self._find(
                trainer, "collapsed", f"training accuracy is at chance after an epoch ({share}); try another seed or learning rate"
            )

    def _find(self, trainer: Trainer, code: str, message: str) -> None:
        epoch = trainer.current_epoch + 1
        self.findings.append({"code": code, "epoch": epoch, "message": message})
        if trainer.is_global_zero:
            self.logger.warning("health: epoch %d: %s", epoch, message)
