"""Contrastive training: cross-entropy over the scores of an item's options (Liu et al. 2022, §5).

The recipe (linear warm-up and decay, clipping) is that of the WinoGrande code which their numbers were made with.
"""

from typing import Any

import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from figlang.config import MethodConfig
from figlang.encode import Batch
from figlang.models.cpu import hasten, release
from figlang.scoring.head import scorer


class ContrastiveModule(LightningModule):
    """Trains `network` so that the gold option scores highest.

    `steps` is the number of optimizer steps of the whole fit, which the learning-rate schedule needs.
    """

    def __init__(self, network: nn.Module, method: MethodConfig, steps: int, seed: int) -> None:
        super().__init__()
        self.network = network
        self.method = method
        self.steps = steps
        self.seed = seed
        self.score = scorer(method.format, method.scale)

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

    def training_step(self, batch: Batch, _: int) -> dict[str, Tensor]:
        scores_BC = self.score(self.network, batch)
        loss = cross_entropy(scores_BC, batch.gold)
        return {"loss": loss, "correct": (scores_BC.detach().argmax(1) == batch.gold).sum()}

    def validation_step(self, batch: Batch, _: int) -> dict[str, Any]:
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
