"""Weights that are evaluated and exported in place of those that the steps move.

They are a moving average of the weights (method.ema), or the average that schedule-free AdamW keeps. A state
that is saved after an epoch holds the evaluated weights in the network, and the moved ones here.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from figlang.config import MethodConfig


class Exchanging(Callback, ABC):
    """Puts the evaluated weights into the network for a validation, and the moved ones back for a step."""

    def on_validation_start(self, trainer: Trainer, module: LightningModule) -> None:
        self.to_evaluated(trainer, module)

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, index: int) -> None:
        self.to_moved(trainer, module)

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        self.to_evaluated(trainer, module)

    @abstractmethod
    def to_evaluated(self, trainer: Trainer, module: LightningModule) -> None:
        """Put the evaluated weights into the network, if they are not there."""

    @abstractmethod
    def to_moved(self, trainer: Trainer, module: LightningModule) -> None:
        """Put the moved weights into the network, if they are not there."""


class MovingAverage(Exchanging):
    """The moving average of the trained weights, by torch's `swa_utils`. It begins after the first step.

    Args:
        decay: Factor on the average at every step. The weights after the step have the rest.
    """

    def __init__(self, decay: float) -> None:
        self._update: Any = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        self._average: dict[str, Tensor] = {}
        self._moved: dict[str, Tensor] = {}  # while the average is in the network

    def state_dict(self) -> dict[str, Any]:
        return {"average": self._average, "moved": self._moved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._average, self._moved = state_dict["average"], state_dict["moved"]

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        for kept in (self._average, self._moved):
            kept.update({name: value.to(module.device) for name, value in kept.items()})

    @torch.no_grad()
    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        now = _trained(module)
        if not self._average:
            self._average = {name: value.clone() for name, value in now.items()}
        else:
            averages: Any = [self._average[name] for name in now]
            self._update(averages, list(now.values()), 0)

    def to_evaluated(self, trainer: Trainer, module: LightningModule) -> None:
        if self._average and not self._moved:
            self._moved = {name: value.clone() for name, value in _trained(module).items()}
            _write(module, self._average)

    def to_moved(self, trainer: Trainer, module: LightningModule) -> None:
        if self._moved:
            _write(module, self._moved)
            self._moved = {}


class ScheduleFree(Exchanging):
    """Tells schedule-free AdamW which of its weights are wanted."""

    def to_evaluated(self, trainer: Trainer, module: LightningModule) -> None:
        optimizer: Any = trainer.optimizers[0]
        optimizer.eval()

    def to_moved(self, trainer: Trainer, module: LightningModule) -> None:
        optimizer: Any = trainer.optimizers[0]
        optimizer.train()


def callbacks(method: MethodConfig) -> list[Callback]:
    """The callbacks that a method needs. They come before the one that saves the state after a signal."""
    if method.optimizer == "schedule_free":
        return [ScheduleFree()]
    return [MovingAverage(method.ema)] if method.ema else []


def _trained(module: LightningModule) -> dict[str, Tensor]:
    return {name: weight.detach() for name, weight in module.named_parameters() if weight.requires_grad}


@torch.no_grad()
def _write(module: LightningModule, weights: dict[str, Tensor]) -> None:
    for name, weight in _trained(module).items():
        weight.copy_(weights[name])
