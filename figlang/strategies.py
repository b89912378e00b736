"""Several processes: which Lightning strategy a configuration asks for, DeepSpeed on CPU processes included."""

from typing import Any, cast

import torch
from pytorch_lightning.strategies import DDPStrategy, DeepSpeedStrategy, Strategy
from pytorch_lightning.utilities.seed import isolate_rng

from figlang.config import TrainerConfig
from figlang.errors import FiglangError

ZERO_STAGES = {"deepspeed_1": 1, "deepspeed_2": 2}


def strategy(trainer: TrainerConfig) -> str | Strategy:
    """Lightning's name or object for `trainer.strategy`.

    Raises FiglangError where DeepSpeed is not installed.
    """
    stage = ZERO_STAGES.get(trainer.strategy)
    if stage is None:
        return trainer.strategy
    on_cpu = trainer.accelerator == "cpu" or not torch.cuda.is_available()
    kind = CpuDeepSpeedStrategy if on_cpu else DeepSpeedStrategy
    try:
        # With adapters, the frozen weights stay out of the checkpoints.
        return kind(stage=stage, exclude_frozen_parameters=True)
    except ImportError as error:
        raise FiglangError(f"trainer={trainer.strategy} needs DeepSpeed: `pip install figlang[deepspeed]`") from error


class CpuDeepSpeedStrategy(DeepSpeedStrategy):
    """DeepSpeed's ZeRO over CPU processes (gloo), which Lightning's strategy refuses though DeepSpeed can do it."""

    def setup_environment(self) -> None:
        DDPStrategy.setup_environment(self)

    def setup_distributed(self) -> None:
        # The parent's check of device indices makes no sense for CPUs, which have none.
        with isolate_rng():
            self.set_world_ranks()
            self._init_deepspeed_distributed()

    @property
    def root_device(self) -> torch.device:
        return torch.device("cpu", self.local_rank)

    def _get_process_group_backend(self) -> str:
        return cast(Any, self._process_group_backend) or "gloo"
