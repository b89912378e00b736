"""What every way of training has in common: optimizer, schedule, clipping, validation by choice.

The recipe (linear warm-up and decay, clipping) is that of the WinoGrande code which the numbers of Liu et al.
2022 were made with.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from pytorch_lightning import LightningModule
from torch import Tensor, distributed, nn

from figlang.config import MethodConfig
from figlang.cpu.hasten import hasten, release
from figlang.training.layers import groups
from figlang.training.sharded import shard, whole

SELECTION = "selection/loss"
Score = Callable[[nn.Module, Any], Tensor]


class NonFiniteLossError(ArithmeticError):
    """A training loss that is no number, and the positions of the items that it is of."""

    def __init__(self, loss: float, positions: Sequence[int]) -> None:
        super().__init__(f"the loss is {loss}")
        self.positions = positions


class ChoiceModule(LightningModule, ABC):
    """Trains `network`, whose choices are validated by `score(network, batch)`, (B, C) with higher = more
    plausible.

    `steps` is the number of optimizer steps of the whole fit, which the learning-rate schedule needs. A way
    of training defines `loss`.
    """

    def __init__(self, network: nn.Module, method: MethodConfig, score: Score, steps: int, seed: int) -> None:
        super().__init__()
        self.network = network
        self.method = method
        self.score = score
        self.steps = steps
        self.seed = seed
        # Frozen weights are not saved, so that a saved state lacks them.
        self.strict_loading = all(parameter.requires_grad for parameter in network.parameters())

    @abstractmethod
    def loss(self, batch: Any) -> dict[str, Tensor]:
        """`loss`, how many cases it is a mean of as `cases`, and `correct` of them where cases are
        choices."""

    def on_fit_start(self) -> None:
        # from_pretrained returns a network in eval mode and Lightning keeps it so: dropout would be off.
        self.train()
        if self.device.type == "cpu":
            hasten(self.network)

    def on_fit_end(self) -> None:
        release(self.network)

    def on_train_epoch_start(self) -> None:
        # Dropout of each epoch has a stream of its own: a resumed run repeats it without any stored generator
        # state.
        torch.manual_seed((self.seed * 1_000_003 + self.current_epoch) * 1009 + self.global_rank)

    def configure_model(self) -> None:
        # Lightning's strategy for FSDP2 makes a mesh of the processes and leaves the rest to the module.
        if self.device_mesh is not None:
            shard(self, self.network, self.device_mesh["data_parallel"])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        frozen = {name for name, parameter in self.named_parameters() if not parameter.requires_grad}
        checkpoint["state_dict"] = {
            name: value for name, value in checkpoint["state_dict"].items() if name not in frozen
        }

    def training_step(self, batch: Any, index: int) -> dict[str, Tensor]:
        """What `loss` returns, with the mean over the cases of all processes as `mean`.

        Gradients are averaged over the processes. `loss` is weighted so that this average is the gradient of
        `mean`, though processes may have unequal shares of a batch. Raises NonFiniteLossError, in all
        processes together.
        """
        found = self._weighted(self.loss(batch), index)
        if not found["mean"].isfinite():
            # Before the step: neither weights nor a checkpoint see it.
            raise NonFiniteLossError(found["mean"].item(), batch.positions)
        return found

    def _weighted(self, found: dict[str, Tensor], index: int) -> dict[str, Tensor]:
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        if world == 1:
            return found | {"mean": found["loss"].detach()}
        if self.trainer.datamodule.buckets.repeats(index):  # type: ignore[attr-defined]
            found = {name: value * 0 for name, value in found.items()}
        cases = found["cases"].float()
        sums = torch.stack([found["loss"].detach().float() * cases, cases])
        distributed.all_reduce(sums)
        return found | {"loss": found["loss"] * (cases * world / sums[1]), "mean": sums[0] / sums[1]}

    def validation_step(self, batch: Any, _: int, dataloader_idx: int = 0) -> dict[str, Any]:
        if dataloader_idx:  # the items that decide which epoch is exported
            found = self.loss(batch)
            self.log(
                SELECTION,
                found["loss"],
                batch_size=int(found["cases"]),
                add_dataloader_idx=False,
                sync_dist=True,
            )
            return found
        return {"scores": self.score(self.network, batch), "positions": batch.positions}

    def configure_optimizers(self) -> dict[str, Any]:
        method = self.method
        trained: Any = [parameter for parameter in self.parameters() if parameter.requires_grad]
        if method.layer_decay < 1:
            trained = groups(self.named_parameters(), method.lr, method.layer_decay)
        optimizer = torch.optim.AdamW(trained, lr=method.lr, weight_decay=method.weight_decay, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: lr_factor(step, self.steps, method.warmup)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        # Lightning refuses to clip for a fused optimizer under autocast, though bf16 has no scaler that would
        # be in the way.
        trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        norm = whole(
            nn.utils.get_total_norm([parameter.grad for parameter in trained if parameter.grad is not None])
        )
        # A gradient that is short enough is left alone; asking for its length would only hold up a GPU.
        if norm.device.type != "cpu" or not norm <= self.method.clip:
            nn.utils.clip_grads_with_norm_(trained, self.method.clip, norm)


def lr_factor(step: int, steps: int, warmup: float) -> float:
    """Learning rate of a step as a share of its peak: linear rise over the warm-up, then linear fall to
    zero."""
    rising = int(steps * warmup)
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (steps - step) / max(1, steps - rising))
