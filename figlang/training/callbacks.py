"""Callbacks of a fit: losses and accuracies, signals to stop, and the health of the training."""

import csv
import logging
import signal
from math import isfinite, nan
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import SIGTERMException
from scipy.stats import binomtest
from torch import Tensor, distributed, nn
from torchmetrics import MeanMetric, Metric, SumMetric

from figlang.errors import FiglangError, NonFiniteError
from figlang.evaluation.choosing import prediction
from figlang.files.whole import whole_file
from figlang.runs.predictions import check_finite
from figlang.statistics.metrics import accuracy, pair_accuracy
from figlang.training.base import SELECTION, SELECTION_ACCURACY
from figlang.training.sharded import local
from figlang.types import Item

# What is said of an epoch; None stands for the name of the evaluated split.
SHOWN = (
    ("train", "loss", "train"),
    ("train", "accuracy", "train"),
    ("selection", "loss", "held-out"),
    ("selection", "accuracy", "held-out"),
    ("validation", "accuracy", None),
    ("validation", "pair_accuracy", None),
)
# Seconds between two lines about progress in the log. A terminal shows a bar, a log file does not.
QUIET = 60.0
# Share of evaluated items from which on an epoch's line names its ties.
TIED = 0.01
# A training that works is at least so far above guessing after an epoch.
ABOVE_CHANCE = 0.1
DIVERGED = "the training diverged; lower method.lr with overwrite=true"


class History(Callback):
    """Loss and accuracy of every epoch, and the loss of at most about 500 steps, in log.csv.

    Rows are (step, epoch, split, metric, value). They are part of the checkpoint, so that the log of a
    resumed run is complete. Lightning's CSV logger would begin a new file.

    Attributes:
        train_accuracy: Accuracy of the last epoch, with dropout on.
        seen: Number of choices in it; 0 if the training makes no choices.
        seconds: Time of all epochs.
        validating: The part of it that validation took.
    """

    def __init__(
        self, path: Path, validation: tuple[Item, ...], logger: logging.Logger, called: str = "validation"
    ) -> None:
        self.path = path
        self.logger = logger
        self.validation = validation
        self.called = called
        self.rows: list[tuple[int, int, str, str, float]] = []
        self.seconds = self.validating = 0.0
        self._started: float | None = None  # when the epoch began, or was resumed; None between epochs
        self._loss, self._right, self._seen = MeanMetric(), SumMetric(), SumMetric()
        for metric in self._epoch:
            metric.persistent(True)
        self.train_accuracy = 0.0
        self.seen = 0
        self._scores: dict[int, Tensor] = {}

    @property
    def _epoch(self) -> tuple[MeanMetric, SumMetric, SumMetric]:
        return self._loss, self._right, self._seen

    def state_dict(self) -> dict[str, Any]:
        # Also the part of an epoch before a signal: the epoch goes on in another process.
        times = {"seconds": self._spent(), "validating": self.validating}
        return {"rows": self.rows, **times, "epoch": [_over_all_processes(metric) for metric in self._epoch]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rows = [tuple(row) for row in state["rows"]]
        self.seconds, self.validating = state["seconds"], state["validating"]
        for metric, content in zip(self._epoch, state["epoch"], strict=True):
            # the other processes begin with nothing: the state is the sum over all processes
            if rank_zero_only.rank == 0:
                metric.load_state_dict(content)

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        # Also set here, because a resumed epoch has no start.
        self._started = self._told = perf_counter()
        for metric in self._epoch:
            metric.to(module.device)

    def on_train_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._started = perf_counter()
        for metric in self._epoch:
            metric.reset()

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, index: int) -> None:
        # After the step, the optimizer already has the rate of the next step.
        self._rate = float(trainer.optimizers[0].param_groups[0]["lr"])

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        self._loss.update(outputs["mean"], weight=outputs["cases"])
        choices = "correct" in outputs
        self._seen.update(outputs["labelled"] if choices else 0)
        if choices:
            self._right.update(outputs["correct"])
        if trainer.global_step % max(1, int(trainer.estimated_stepping_batches) // 500) == 0:
            now = {"step_loss": float(outputs["mean"]), "lr": self._rate}
            for metric, value in now.items():
                self._add(trainer, "train", metric, value)
            for tracker in trainer.loggers:
                tracker.log_metrics(
                    {f"train/{metric}": value for metric, value in now.items()}, trainer.global_step
                )
        if perf_counter() - self._told >= QUIET:
            self._tell(trainer, index + 1, float(outputs["mean"]))

    def _tell(self, trainer: Trainer, steps: int, loss: float) -> None:
        """Log how far the epoch is."""
        self._told = perf_counter()
        if trainer.is_global_zero:
            self.logger.info(
                "epoch %d of %s, step %d of %d: loss %.3f",
                trainer.current_epoch + 1,
                trainer.max_epochs,
                steps,
                int(trainer.num_training_batches),
                loss,
            )

    def on_validation_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._scores = {}
        self._validated = perf_counter()

    def on_validation_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, *_: Any
    ) -> None:
        if outputs["rows"]:  # items that select have none
            self._scores.update(zip(outputs["positions"], outputs["rows"], strict=True))

    def on_validation_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        self.validating += perf_counter() - self._validated
        rows = [prediction(item, self._scores[position]) for position, item in enumerate(self.validation)]
        try:
            check_finite(rows)
        except NonFiniteError as error:
            epoch = f"validation after epoch {trainer.current_epoch + 1}"
            raise FiglangError(f"{epoch}: {error}; {DIVERGED}") from error
        for metric in (accuracy, pair_accuracy):
            if (estimate := metric(rows)) is not None:
                self._add(trainer, "validation", metric.__name__, estimate.value)
                module.log(f"validation/{metric.__name__}", estimate.value, prog_bar=True, sync_dist=True)
        if rows:  # bfloat16 rounds scores that differ to equal ones
            self._add(trainer, "validation", "ties", sum(row.choice is None for row in rows) / len(rows))

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        self.seconds, self._started = self._spent(), None
        # torchmetrics computes over all processes.
        loss, self.seen = float(self._loss.compute()), int(self._seen.compute())
        self.train_accuracy = float(self._right.compute()) / self.seen if self.seen else nan
        self._add(trainer, "train", "loss", loss)
        module.log("train/loss", loss, prog_bar=True, sync_dist=True)
        if self.seen:
            self._add(trainer, "train", "accuracy", self.train_accuracy)
            module.log("train/accuracy", self.train_accuracy, sync_dist=True)
        if SELECTION in trainer.callback_metrics:
            selection_loss = float(trainer.callback_metrics[SELECTION])
            if not isfinite(selection_loss):
                epoch = f"validation after epoch {trainer.current_epoch + 1}"
                raise FiglangError(f"{epoch}: the loss on held-out items is {selection_loss}; {DIVERGED}")
            self._add(trainer, "selection", "loss", selection_loss)
            if SELECTION_ACCURACY in trainer.callback_metrics:
                share = float(trainer.callback_metrics[SELECTION_ACCURACY])
                self._add(trainer, "selection", "accuracy", share)
        if not trainer.is_global_zero:
            return
        self.logger.info("epoch %d of %s: %s", trainer.current_epoch + 1, trainer.max_epochs, self._latest())
        with whole_file(self.path) as beside, beside.open("w", newline="") as file:
            csv.writer(file).writerows([("step", "epoch", "split", "metric", "value"), *self.rows])

    def _spent(self) -> float:
        """Seconds of the epochs so far, with the part of the present one."""
        return self.seconds + (0.0 if self._started is None else perf_counter() - self._started)

    def _latest(self) -> str:
        """The last numbers in words: losses, and shares in per cent as in the tables of an evaluation."""
        latest = {row[2:4]: row[4] for row in self.rows}
        told = [
            f"{name or self.called} {metric.replace('_', ' ')} "
            + (f"{value:.3f}" if metric == "loss" else f"{100 * value:.1f} %")
            for split, metric, name in SHOWN
            if (value := latest.get((split, metric))) is not None
        ]
        if (ties := latest.get(("validation", "ties"), 0)) >= TIED:
            told.append(f"{self.called} ties {100 * ties:.1f} % (a tie is wrong)")
        return ", ".join(told)

    def _add(self, trainer: Trainer, split: str, metric: str, value: float) -> None:
        self.rows.append((trainer.global_step, trainer.current_epoch, split, metric, value))


def _over_all_processes(metric: Metric) -> dict[str, Any]:
    with metric.sync_context():
        return dict(metric.state_dict())


class Preemption(Callback):
    """Stops the fit after SIGTERM or Ctrl-C, with the state saved so that no step is lost.

    It raises SIGTERMException. A second Ctrl-C stops at once. A step, or a validation, is finished first.
    Processes agree after every step. So all of them stop at the same step, whichever of them got the signal.
    `kept` is the step that was saved. `asked` says whether a signal came, `keyboard` whether it was Ctrl-C.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept = 0
        self.keyboard = False
        self.asked = False
        self._before: Any = None
        self._random: list[list[Tensor]] = []

    def state_dict(self) -> dict[str, Any]:
        return {"random": _of_all_processes([torch.get_rng_state(), *torch.cuda.get_rng_state_all()])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._random = state["random"]

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        # This replaces Lightning's handler, which stops within a validation and leaves several processes at
        # different steps.
        signal.signal(signal.SIGTERM, self._ask)
        self._before = signal.signal(signal.SIGINT, self._ask_by_keyboard)
        # A resumed epoch keeps its random state.
        if len(self._random) == trainer.world_size:
            processor, *devices = self._random[trainer.global_rank]
            torch.set_rng_state(processor.cpu())
            if len(devices) == torch.cuda.device_count():
                torch.cuda.set_rng_state_all([state.cpu() for state in devices])

    def _ask(self, *_: Any) -> None:
        self.asked = True

    def _ask_by_keyboard(self, *_: Any) -> None:
        if self.keyboard:
            raise KeyboardInterrupt
        self.asked = self.keyboard = True

    def teardown(self, trainer: Trainer, module: LightningModule, stage: str) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        if trainer.is_last_batch:
            return  # the validation and the state of the whole epoch come first
        if self._agreed(module):
            trainer.save_checkpoint(self.path)
            self._stop(trainer)

    def on_train_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        if self._agreed(module):
            self._stop(trainer)

    on_train_end = on_train_epoch_start

    def _agreed(self, module: LightningModule) -> bool:
        if not distributed.is_initialized():
            return self.asked  # without a tensor, because reading one from a GPU takes time
        asked = torch.tensor(int(self.asked), device=module.device)
        distributed.all_reduce(asked)
        return bool(asked)

    def _stop(self, trainer: Trainer) -> None:
        self.kept = trainer.global_step
        raise SIGTERMException


def _of_all_processes(content: Any) -> list[Any]:
    if not distributed.is_initialized():
        return [content]
    parts: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(parts, content)
    return parts


class Health(Callback):
    """Notices trainings that look fine but are not. Each finding is one sentence about one epoch (from 1).

    - dropout off: training steps run in eval mode, or no dropout is set.
    - head frozen: the new head does not train.
    - collapsed: after an epoch, the training accuracy cannot be told from guessing (two-sided exact binomial
      test, p > 0.01), and its exact 95 % interval ends below what a training that works has. Large encoders
      do this on some seeds.

    What is found after the training is noted from outside.
    """

    def __init__(
        self, history: History, chance: float, head: list[nn.Parameter], logger: logging.Logger
    ) -> None:
        self.history = history
        self.chance = chance
        self.head = head
        self.logger = logger
        self.findings: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._before: list[Tensor] = []

    def state_dict(self) -> dict[str, Any]:
        return {"findings": self.findings}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.findings = list(state["findings"])

    def setup(self, trainer: Trainer, module: LightningModule, stage: str) -> None:
        # By name, because a sharding strategy replaces the parameters.
        self._names = [
            name
            for name, parameter in module.named_parameters()
            if any(parameter is part for part in self.head)
        ]

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._before = self._snapshot(module)

    def _snapshot(self, module: LightningModule) -> list[Tensor]:
        return [local(module.get_parameter(name)).detach().clone() for name in self._names]

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, index: int) -> None:
        if index == 0:
            drops = [
                layer.training and layer.p > 0 for layer in module.modules() if isinstance(layer, nn.Dropout)
            ]
            # Llama and similar networks have no dropout to switch on.
            if drops and not any(drops):
                self._find(
                    trainer, "dropout_off", "dropout is off in training; a published recipe usually has it on"
                )

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        now = self._snapshot(module)
        moved = [not torch.equal(*pair) for pair in zip(self._before, now, strict=True)]
        # Not all of them need to move: a bias that all options share has no gradient under softmax.
        if moved and not any(moved):
            self._find(
                trainer,
                "head_frozen",
                "the choice head did not change in an epoch: it is frozen or gets no gradient",
            )
        self._before = now
        if not self.history.seen:
            return
        right = round(self.history.train_accuracy * self.history.seen)
        test = binomtest(right, self.history.seen, self.chance)
        if test.pvalue > 0.01 and test.proportion_ci().high < self.chance + ABOVE_CHANCE:
            share = f"{100 * self.history.train_accuracy:.1f} % of {self.history.seen:,}"
            self._find(
                trainer,
                "collapsed",
                f"training accuracy cannot yet be told from chance ({share}); if this stays so, try "
                "another seed or learning rate",
            )

    def _find(self, trainer: Trainer, code: str, message: str) -> None:
        self.note(trainer.current_epoch + 1, code, message, told=trainer.is_global_zero)

    def note(self, epoch: int, code: str, message: str, told: bool = True) -> None:
        """Keep a finding.

        Args:
            epoch: Its epoch, from 1.
            code: A short name of its kind.
            message: The sentence.
            told: Whether this process logs it.
        """
        self.findings.append({"code": code, "epoch": epoch, "message": message})
        if told:
            self.logger.warning("health: epoch %d: %s", epoch, message)
