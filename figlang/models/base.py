"""What every way of training has in common: optimizer, schedule, clipping, validation by choice.

The recipe (linear warm-up and decay, clipping) is that of the WinoGrande code which the numbers of Liu et al. 2022 were
made with.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn

from figlang.config import MethodConfig
from figlang.models.cpu import hasten, release

SELECTION = "selection/loss"
Score = Callable[[nn.Module, Any], Tensor]


class NonFiniteLossError(ArithmeticError):
    """A training loss that is no number, and the positions of the items that it is of."""

    def __init__(self, loss: float, positions: Sequence[int]) -> None:
        super().__init__(f"the loss is {loss}")
        self.positions = positions


class ChoiceModule(LightningModule, ABC):
    """Trains `network`, whose choices are validated by `score(network, batch)`, (B, C) with higher = more plausible.

    `steps` is the number of optimizer steps of the whole fit, which the learning-rate schedule needs. A way of training
    defines `loss`.
    """

    def __init__(self, network: nn.Module, method: MethodConfig, score: Score, steps: int, seed: int) -> None:
        super().__init__()
        self.network = network
        self.method = method
        self.score = score
        self.steps = steps
        self.seed = seed

    @abstractmethod
    def loss(self, batch: Any) -> dict[str, Tensor]:
        """`loss`, how many cases it is a mean of as `cases`, and `correct` of them where cases are choices."""

    def on_fit_start(self) -> None:
        # from_pretrained returns a network in eval mode and Lightning keeps it so: dropout would be off.
        self.train()
        if self.device.type == "cpu":
            hasten(self.network)

    def on_fit_end(self) -> None:
        release(self.network)

    def on_train_epoch_start(self) -> None:
        # Dropout of each epoch has a stream of its own: a resumed run repeats it without any stored generator state.
        torch.manual_seed((self.seed * 1_000_003 + self.current_epoch) * 1009 + self.global_rank)

    def training_step(self, batch: Any, _: int) -> dict[str, Tensor]:
        found = self.loss(batch)
        if not found["loss"].isfinite():
            # Before the step: neither weights nor a checkpoint see it.
            raise NonFiniteLossError(found["loss"].item(), batch.positions)
        return found

    def validation_step(self, batch: Any, _: int, dataloader_idx: int = 0) -> dict[str, Any]:
        if dataloader_idx:  # the items that decide which epoch is exported
            found = self.loss(batch)
            self.log(SELECTION, found["loss"], batch_size=int(found["cases"]), add_dataloader_idx=False, sync_dist=True)
            return found
        return {"scores": self.score(self.network, batch), "positions": batch.positions}

    def configure_optimizers(self) -> dict[str, Any]:
        method = self.method
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=method.lr, weight_decay=method.weight_decay, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_factor(step, self.steps, method.warmup))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        # Lightning refuses to clip for a fused optimizer under autocast, though bf16 has no scaler that would be in the way.
        trained = optimizer.param_groups[0]["params"]
        norm = nn.utils.get_total_norm([parameter.grad for parameter in trained if parameter.grad is not None])
        # A gradient that is short enough is left alone; asking for its length would only hold up a GPU.
        if norm.device.type != "cpu" or not norm <= self.method.clip:
            nn.utils.clip_grads_with_norm_(trained, self.method.clip, norm)


def lr_factor(step: int, steps: int, warmup: float) -> float:
    """Learning rate of a step as a share of its peak: linear rise over the warm-up, then linear fall to zero."""
    rising = int(steps * warmup)
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (steps - step) / max(1, steps - rising))
