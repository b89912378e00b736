"""Which weights are exported: those of the best epoch (lowest selection loss), or those of the last epoch."""

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn

from figlang.config import MethodConfig
from figlang.errors import FiglangError, damage
from figlang.runs.training import Run
from figlang.training.base import SELECTION


class Patience(EarlyStopping):
    """Early stopping that stays stopped if a fit is resumed after its last epoch."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        trainer.should_stop = self.wait_count >= self.patience


class LastWeights(ModelCheckpoint):
    """The weights after the last epoch, for strategies that share them out.

    They are written before the state of that epoch.
    """


def callbacks(run: Run, method: MethodConfig, sharded: bool) -> list[Callback]:
    """Callbacks that keep the weights to export.

    With a selection loss they keep the best epoch and stop after `patience` epochs without a better one.
    Otherwise they keep the last epoch, if the weights are shared out.
    """
    place = {
        "dirpath": run.best.parent,
        "filename": run.best.stem,
        "save_weights_only": True,
        "enable_version_counter": False,
    }
    if method.selection != "none":
        best = ModelCheckpoint(**place, monitor=SELECTION, mode="min")
        return [
            best,
            Patience(SELECTION, mode="min", patience=method.patience, check_on_train_epoch_end=False),
        ]
    return (
        [LastWeights(**place, every_n_epochs=method.epochs, save_on_train_epoch_end=True)] if sharded else []
    )


def restore(network: nn.Module, run: Run) -> int:
    """Load the kept weights into a network.

    Returns:
        The epoch of the weights, from 1.

    Raises:
        FiglangError: If the file is damaged.
    """
    try:
        content = torch.load(run.best, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can fail in any way
        raise FiglangError(
            f"{run.best} cannot be read ({damage(error)}); overwrite=true starts the run again"
        ) from error
    # Frozen weights are not saved.
    network.load_state_dict(
        {name.removeprefix("network."): value for name, value in content["state_dict"].items()}, strict=False
    )
    return int(content["epoch"]) + 1
