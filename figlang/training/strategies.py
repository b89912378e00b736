"""Several processes: the Lightning strategy for a configuration, also for CPU processes (gloo).

With every strategy, weights alone are saved as one file with all trained weights in float32. So an export
never depends on the strategy.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.plugins.environments import SLURMEnvironment, TorchElasticEnvironment
from pytorch_lightning.strategies import (
    DDPStrategy,
    DeepSpeedStrategy,
    ModelParallelStrategy,
    ParallelStrategy,
    Strategy,
)
from pytorch_lightning.utilities.seed import isolate_rng
from torch import Tensor

from figlang.config import TrainerConfig
from figlang.errors import FiglangError

ZERO: dict[str, dict[str, Any]] = {
    "deepspeed_1": {"stage": 1},
    "deepspeed_2": {"stage": 2},
    "deepspeed_2_offload": {"stage": 2, "offload_optimizer": True},
    "deepspeed_3": {"stage": 3},
}
# With these, no process has all trained weights in full precision.
SHARDED = (*ZERO, "fsdp")


def strategy(trainer: TrainerConfig) -> str | Strategy:
    """Lightning's name or object for `trainer.strategy`.

    Raises:
        FiglangError: If DeepSpeed is needed and not installed.
    """
    if trainer.strategy == "fsdp":
        return FullySharded()
    if trainer.strategy not in ZERO:
        return trainer.strategy
    on_cpu = trainer.accelerator == "cpu" or not torch.cuda.is_available()
    kind = CpuZeroStrategy if on_cpu else ZeroStrategy
    try:
        # With adapters, the frozen weights stay out of the checkpoints.
        made = kind(exclude_frozen_parameters=True, **ZERO[trainer.strategy])
    except ImportError as error:
        raise FiglangError(
            f"trainer={trainer.strategy} needs DeepSpeed: `pip install 'figlang[deepspeed]'`"
        ) from error
    # For offloaded states, torch's fused AdamW is as good as DeepSpeed's own for CPUs, which would have to be
    # compiled first.
    cast(dict[str, Any], made.config)["zero_force_ds_cpu_optimizer"] = False
    return made


def places(trainer: TrainerConfig) -> tuple[int | str, int]:
    """The number of processes per node and of nodes, for Lightning.

    They are as configured. If the setting is `auto`, they are as torchrun or SLURM's srun has started them.

    Raises:
        FiglangError: torchrun has started another number of processes than is configured.
    """
    devices: int | str = int(trainer.devices) if trainer.devices.isdigit() else trainer.devices
    started, local = 0, 0
    if TorchElasticEnvironment.detect():
        started, local = int(os.environ["WORLD_SIZE"]), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        if started > 1 and isinstance(devices, int) and devices != local:
            raise FiglangError(
                f"torchrun has started {local} processes here and trainer.devices={devices}; "
                f"set trainer.devices={local}, or leave torchrun out"
            )
    if trainer.strategy == "auto":
        return devices, trainer.nodes or 1
    if not started and SLURMEnvironment.detect():
        started = int(os.environ["SLURM_NTASKS"])
        local = started // int(os.environ.get("SLURM_NNODES", "1"))
    if started and devices == "auto":
        devices = local
    return devices, trainer.nodes or (started // local if started else 1)


class FullySharded(ModelParallelStrategy):
    """FSDP2: weights, gradients and optimizer state are shared out and gathered block by block.

    Lightning's FSDPStrategy is FSDP1, which refuses CPUs. A checkpoint is one file, as with a single process.
    """

    def __init__(self) -> None:
        super().__init__(
            tensor_parallel_size=1, save_distributed_checkpoint=False, timeout=timedelta(hours=2)
        )

    def setup_environment(self) -> None:
        self._data_parallel_size = self.num_nodes * self.num_processes
        super().setup_environment()

    # Steps go through the module's own call. Its hooks gather the weights outside of blocks. Lightning would
    # call the steps directly.
    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        return self._forward_redirection(self.model, self.lightning_module, "training_step", *args, **kwargs)

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        return self._forward_redirection(
            self.model, self.lightning_module, "validation_step", *args, **kwargs
        )


class ZeroStrategy(DeepSpeedStrategy):
    """DeepSpeed's ZeRO, with checkpoints that are complete or not there.

    The state for resuming is a folder with a part from every process. The name of the checkpoint is a link to
    one of two folders. The next state is written to the other folder, and the link moves when all of it is
    written.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        path = Path(self.broadcast(filepath))
        if "optimizer_states" not in checkpoint:
            checkpoint["state_dict"] = gathered(cast(LightningModule, self.lightning_module))
            ParallelStrategy.save_checkpoint(self, checkpoint, path)
            self.barrier()
            return
        folders = [path.with_name(f"{path.stem}-{letter}{path.suffix}") for letter in "ab"]
        current = Path(self.broadcast(path.resolve()))
        folder = next(candidate for candidate in folders if candidate.resolve() != current)
        if self.is_global_zero:
            shutil.rmtree(folder, ignore_errors=True)
        self.barrier()
        super().save_checkpoint(checkpoint, folder)  # ends with a barrier
        if self.is_global_zero:
            link = path.with_name(f".{path.name}")
            link.unlink(missing_ok=True)
            link.symlink_to(folder.name)
            link.replace(path)
        self.barrier()

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> dict[str, Any]:
        with _nothing_unpickled():
            return cast(dict[str, Any], super().load_checkpoint(checkpoint_path, weights_only))


class CpuZeroStrategy(ZeroStrategy):
    """ZeRO over CPU processes (gloo). Lightning's strategy refuses them, although DeepSpeed supports them."""

    def setup_environment(self) -> None:
        DDPStrategy.setup_environment(self)

    def setup_distributed(self) -> None:
        # The parent checks device indices, which CPUs do not have.
        with isolate_rng():
            self.set_world_ranks()
            self._init_deepspeed_distributed()

    @property
    def root_device(self) -> torch.device:
        return torch.device("cpu", self.local_rank)

    def _get_process_group_backend(self) -> str:
        return cast(Any, self._process_group_backend) or "gloo"


def gathered(module: LightningModule) -> dict[str, Tensor]:
    """The trained weights of a module under ZeRO, whole and in float32, in the first process.

    Every process must call this.
    """
    from deepspeed.utils import safe_get_full_fp32_param

    weights = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            whole = safe_get_full_fp32_param(parameter)
            if module.global_rank == 0:
                weights[name] = whole.detach().to("cpu", copy=True)
    return weights


@contextmanager
def _nothing_unpickled() -> Iterator[None]:
    # DeepSpeed reads its files with weights_only=False; this variable of torch's overrules that.
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
    from deepspeed.runtime.zero.config import ZeroStageEnum
    from deepspeed.utils.tensor_fragment import fragment_address

    before = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        with torch.serialization.safe_globals(
            [ZeroStageEnum, LossScaler, DynamicLossScaler, fragment_address]
        ):
            yield
    finally:
        os.environ.pop("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
        if before is not None:
            os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = before
