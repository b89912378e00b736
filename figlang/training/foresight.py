"""A training's memory, estimated before its first step, or after memory was not enough."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from pytorch_lightning import Callback, LightningModule, Trainer

from figlang.config import TrainConfig
from figlang.machine.faults import lacks_memory
from figlang.training import memory, saving
from figlang.training.base import ChoiceModule
from figlang.training.datamodule import ChoiceData
from figlang.training.meters import meter
from figlang.training.strategies import SHARDED

log = logging.getLogger("figlang")
WORTH_SAYING = 10**9  # bytes of memory that not every machine has to spare
# The estimate took as long as training on 25 items (SmolLM2 with LoRA, steps of 8): 2.5 % of so many.
MANY = 1000


class Foresight(Callback):
    """Says how much memory a large training will need, and explains a lack of it.

    Args:
        config: The options of the training.
        batches: Its items.

    Attributes:
        expected: The estimate, if it was made before the first step.
    """

    def __init__(self, config: TrainConfig, batches: ChoiceData) -> None:
        self.expected: memory.Forecast | None = None
        self._config, self._batches = config, batches
        self._here: float | None = None

    @property
    def expected_mb(self) -> float | None:
        """The estimate in MB (2**20 bytes)."""
        return None if self.expected is None else self.expected.total / 2**20

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        assert isinstance(module, ChoiceModule)
        method = self._config.method
        least = memory.least(module.network, method)
        measures = meter(trainer.strategy.root_device)
        if measures is not None and trainer.world_size == 1:
            self._here = measures.held()
        if least >= WORTH_SAYING or len(self._batches.train) * method.epochs >= MANY:
            self.expected = self._measured(trainer, module)
        if self.expected is not None and self.expected.total >= WORTH_SAYING:
            log.info("it needs about %s of memory", memory.size(self.expected.total))
        elif self.expected is None and least >= WORTH_SAYING and self._config.trainer.strategy not in SHARDED:
            text = "it needs %s for weights, gradients and %s, and more for activations"
            log.info(text, memory.size(least), memory.STATES[method.optimizer])

    @contextmanager
    def explained(self, trainer: Trainer, module: ChoiceModule) -> Iterator[None]:
        """While the block runs, a lack of memory becomes one line.

        Raises:
            FiglangError: If memory lacks.
        """
        try:
            yield
        except (RuntimeError, MemoryError) as error:  # torch's lack of memory is a RuntimeError
            if not lacks_memory(error):
                raise
            _forget(error)
            expected = self.expected or self._measured(trainer, module)
            gpu = trainer.strategy.root_device.type == "cuda"
            repeats = saving.repeats(module.network)
            raise memory.refusal(expected, self._config, gpu, repeats) from error

    def _measured(self, trainer: Trainer, module: ChoiceModule) -> memory.Forecast | None:
        """The estimate; None if it cannot be made, or if memory is not enough for a few items."""
        if self._here is None:
            return None
        module.zero_grad()
        try:
            # After a failure, Lightning has moved it away, and a validation has left it without dropout.
            module.to(trainer.strategy.root_device).train()
            return memory.forecast(module, trainer, self._batches, self._here)
        except (RuntimeError, MemoryError) as error:
            if not lacks_memory(error):
                raise
            _forget(error)
            return None


def _forget(error: BaseException) -> None:
    """Let go of the tensors that an error's frames hold."""
    before: BaseException | None = error
    while before is not None:
        traceback.clear_frames(before.__traceback__)
        before = before.__context__
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
