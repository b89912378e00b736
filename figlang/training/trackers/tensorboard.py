"""TensorBoard: curves, results and figures in the folder `tensorboard` of the run.

`tensorboard --logdir runs` shows all runs.
"""

from collections.abc import Mapping
from typing import Any

from pytorch_lightning.loggers import Logger, TensorBoardLogger

from figlang.config import TrainConfig
from figlang.runs.training import Run
from figlang.training.trackers.common import History, last_step, library, results, settings


def start(config: TrainConfig, run: Run) -> Logger:
    """Lightning's logger. A resumed run goes on in the same folder.

    Raises:
        FiglangError: If TensorBoard is not installed.
    """
    library("tensorboard", "tensorboard", "tensorboard")
    kept = _logger(run)
    kept.log_hyperparams(dict(settings(config)))
    return kept


def finish(config: TrainConfig, run: Run, content: Mapping[str, Any], history: History) -> None:
    """Add results with intervals, the signature and the figures. The arguments are those of every tracker."""
    from matplotlib import image

    kept, step = _logger(run), last_step(history)
    kept.log_metrics(results(content), step)
    kept.experiment.add_text("signature", f"`{content['signature']}`", step)
    for path in sorted(run.figures.glob("*.png")):
        picture = image.imread(path)
        kept.experiment.add_image(f"figures/{path.stem}", picture, step, dataformats="HWC")
    kept.finalize("success")


def _logger(run: Run) -> TensorBoardLogger:
    return TensorBoardLogger(run.folder, name="", version="tensorboard", default_hp_metric=False)
