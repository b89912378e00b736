"""The common part of all ways of training: steps, optimizer, clipping, validation by choice.

Clipping is that of the code with which Liu et al. (2022) got their numbers (Sakaguchi et al. 2020), and so is
the schedule.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from pytorch_lightning import LightningModule
from torch import Tensor, distributed, nn

from figlang.config import MethodConfig
from figlang.cpu.hasten import hasten, release
from figlang.machine.shrinking import Shrinking
from figlang.training import optimizers, schedules
from figlang.training.accumulation import Parts, Uncut
from figlang.training.datamodule import EVALUATED_AT_ONCE
from figlang.training.sharded import shard, whole

log = logging.getLogger("figlang")

SELECTION = "selection/loss"
SELECTION_ACCURACY = "selection/accuracy"
Score = Callable[[nn.Module, Any], Tensor]


class NonFiniteLossError(ArithmeticError):
    """A training loss that is not a number, with the positions of its items."""

    def __init__(self, loss: float, positions: Sequence[int]) -> None:
        super().__init__(f"the loss is {loss}")
        self.positions = positions


class ChoiceModule(LightningModule, ABC):
    """Trains a network and validates its choices. A way of training defines `loss`.

    Args:
        network: The network.
        method: Settings of the training.
        score: Gives scores (B, C) for a network and a batch; higher is more plausible.
        steps: Number of optimizer steps of the whole fit, for the learning rate.
        seed: Seed of dropout.
        ratio: Factor on the learning rate of the second matrices of adapters.
    """

    def __init__(
        self,
        network: nn.Module,
        method: MethodConfig,
        score: Score,
        steps: int,
        seed: int,
        ratio: float = 1.0,
    ) -> None:
        super().__init__()
        self.network = network
        self.method = method
        self.score = score
        self.steps = steps
        self.seed = seed
        self.ratio = ratio
        self.parts = Parts(method.accumulate)
        self.at_once = Shrinking(EVALUATED_AT_ONCE, 1, "validation items are read")
        # Frozen weights are not saved, so a saved state lacks them.
        self.strict_loading = all(parameter.requires_grad for parameter in network.parameters())

    @abstractmethod
    def loss(self, batch: Any) -> dict[str, Tensor]:
        """The loss of a batch.

        Returns:
            `loss`; `cases`, the number of cases that it is a mean of; and if cases are choices, how many are
            `labelled` and `correct`.
        """

    @abstractmethod
    def cases(self, batch: Any) -> int:
        """The number of cases of a batch, which `loss` will be the mean of."""

    def on_fit_start(self) -> None:
        if self.trainer.world_size > 1:
            # Processes that share a network read with it together. One that reads again alone would wait for
            # ever.
            self.at_once = Shrinking(EVALUATED_AT_ONCE, EVALUATED_AT_ONCE, "validation items are read")
        # from_pretrained returns a network in eval mode, and Lightning does not change it: dropout would be
        # off.
        self.train()
        if self.device.type == "cpu":
            hasten(self.network)

    def on_fit_end(self) -> None:
        release(self.network)

    def on_train_epoch_start(self) -> None:
        # Dropout has its own random stream in each epoch. So a resumed run repeats it without a stored state.
        torch.manual_seed((self.seed * 1_000_003 + self.current_epoch) * 1009 + self.global_rank)

    def configure_model(self) -> None:
        # Lightning's strategy for FSDP2 makes a mesh of the processes, and leaves the rest to the module.
        if self.device_mesh is not None:
            shard(self, self.network, self.device_mesh["data_parallel"])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        frozen = {name for name, parameter in self.named_parameters() if not parameter.requires_grad}
        checkpoint["state_dict"] = {
            name: value for name, value in checkpoint["state_dict"].items() if name not in frozen
        }
        checkpoint["parts"] = self.parts.count

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if self.parts.automatic:
            self.parts.count = checkpoint["parts"]

    def training_step(self, batch: Any, index: int) -> dict[str, Tensor]:
        """The result of `loss`, with `mean`, the mean over the cases of all processes.

        Gradients are averaged over the processes. `loss` is weighted so that this average is the gradient of
        `mean`, although processes may have unequal shares of a batch.

        Raises:
            NonFiniteLossError: If the mean is not a finite number, in all processes together.
        """
        if isinstance(batch, Uncut):
            return self.parts.tried(  # type: ignore[no-any-return]
                lambda count: self._in_parts(batch.cut(count), index), len(batch.examples), self._told
            )
        return self._sound(self._weighted(self.loss(batch), index), batch.positions)

    def _sound(self, result: dict[str, Tensor], positions: Sequence[int]) -> dict[str, Tensor]:
        if not result["mean"].isfinite():
            # Before the step, so that neither the weights nor a checkpoint see it.
            raise NonFiniteLossError(result["mean"].item(), positions)
        return result

    def _told(self, parts: int) -> None:
        text = "memory is not enough: steps are cut into %d parts from step %d on"
        log.warning(text, parts, self.trainer.global_step + 1)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _in_parts(self, parts: Sequence[Sequence[Any]], index: int) -> dict[str, Tensor]:
        """A step over several parts: gradients of all of them, and the result as of one batch.

        With a single process every part is gone back through here. With several, the last part is left to
        Lightning, because only then the gradients are averaged.
        """
        optimizer, strategy = self.trainer.optimizers[0], self.trainer.strategy
        optimizer.zero_grad()
        datamodule = self.trainer.datamodule  # type: ignore[attr-defined]
        batches = [strategy.batch_to_device(datamodule.collate(part)) for part in parts]
        counted = torch.tensor(
            [self.cases(batch) for batch in batches], dtype=torch.float, device=self.device
        )
        together = self.trainer.world_size > 1
        if together and datamodule.buckets.repeats(index):
            counted = counted * 0
        total = counted.sum()
        if together:
            distributed.all_reduce(total)
        sums: dict[str, Tensor] = {}
        for place, (batch, cases) in enumerate(zip(batches, counted, strict=True)):
            result = self.loss(batch)
            if not together:  # several processes must agree first
                self._sound({"mean": result["loss"].detach()}, batch.positions)
            loss = result.pop("loss") * (cases * self.trainer.world_size / total)
            if not (together and place == len(batches) - 1):
                strategy.backward(loss, optimizer)
                loss = loss.detach()
                torch.clear_autocast_cache()  # it would keep the graph of each part
            sums = {name: sums.get(name, 0) + value for name, value in (result | {"loss": loss}).items()}
        if not together:
            # All gradients are computed. Lightning calls backward on this, which changes none of them.
            return sums | {"mean": sums["loss"], "loss": sums["loss"].clone().requires_grad_()}
        mean = sums["loss"].detach() / self.trainer.world_size
        distributed.all_reduce(mean)
        positions = [position for batch in batches for position in batch.positions]
        return self._sound(sums | {"mean": mean}, positions)

    def on_train_batch_start(self, *_: Any) -> None:
        # Lightning does this between the forward and the backward pass, so that gradients of the last step
        # would take memory beside all activations.
        self.trainer.optimizers[0].zero_grad()

    def optimizer_zero_grad(self, *_: Any) -> None:
        """Nothing: gradients are freed before the step, and parts have gradients by then."""

    def _weighted(self, result: dict[str, Tensor], index: int) -> dict[str, Tensor]:
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        if world == 1:
            return result | {"mean": result["loss"].detach()}
        if self.trainer.datamodule.buckets.repeats(index):  # type: ignore[attr-defined]
            result = {name: value * 0 for name, value in result.items()}
        cases = result["cases"].float()
        sums = torch.stack([result["loss"].detach().float() * cases, cases])
        distributed.all_reduce(sums)
        return result | {"loss": result["loss"] * (cases * world / sums[1]), "mean": sums[0] / sums[1]}

    def validation_step(self, batch: Uncut, _: int, dataloader_idx: int = 0) -> dict[str, Any]:
        """The scores of items, in rows with their positions, or the losses by which an epoch is selected.

        If memory is not enough for all of them together, fewer are read together from then on.
        """
        rows: list[Tensor] = []
        positions: list[int] = []

        def read(size: int) -> tuple[list[Tensor], list[int]]:
            first = len(positions)
            return self._validated(batch.examples[first : first + size], bool(dataloader_idx))

        while len(positions) < len(batch.examples):
            scores, found = self.at_once(read)
            rows += scores
            positions += found
        return {"rows": rows, "positions": positions}

    def _validated(self, examples: Sequence[Any], selects: bool) -> tuple[list[Tensor], list[int]]:
        """Read validation items together. Returns rows of scores, none for items that select."""
        collated = self.trainer.datamodule.collate(examples)  # type: ignore[attr-defined]
        batch = self.trainer.strategy.batch_to_device(collated)
        if not selects:
            return [*self.score(self.network, batch).cpu()], batch.positions
        result = self.loss(batch)  # these items decide which epoch is exported
        cases = int(result["cases"])
        measured = {SELECTION: result["loss"]}
        if "correct" in result:
            measured[SELECTION_ACCURACY] = result["correct"] / cases
        for name, value in measured.items():
            self.log(name, value, batch_size=cases, add_dataloader_idx=False, sync_dist=True)
        return [], batch.positions

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer = optimizers.optimizer(self.method, self.named_parameters(), self.steps, self.ratio)
        schedule = schedules.schedule(self.method, optimizer, self.steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        # Lightning refuses to clip for a fused optimizer under autocast, although bf16 has no gradient
        # scaler.
        trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        norm = whole(
            nn.utils.get_total_norm([parameter.grad for parameter in trained if parameter.grad is not None])
        )
        # A gradient that is short enough is not changed. On a GPU its length is not read, because that takes
        # time.
        if norm.device.type != "cpu" or not norm <= self.method.clip:
            nn.utils.clip_grads_with_norm_(trained, self.method.clip, norm)
