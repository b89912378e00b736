"""The trackers of a training: TensorBoard, MLflow, Weights & Biases, Comet, several at once.

log.csv is written by History in any case. A tracker's package is imported only if `logger=` names it.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from pytorch_lightning.loggers import Logger

from figlang.config import TrainConfig
from figlang.runs.training import Run
from figlang.training.trackers.common import History


def start(config: TrainConfig, run: Run) -> list[Logger]:
    """Lightning's loggers, each with its run begun or continued.

    Returns:
        An empty list with logger=csv only.

    Raises:
        FiglangError: If a package is missing or a server cannot be reached.
    """
    started = (tracker.start(config, run) for tracker in _trackers(config))
    return [logger for logger in started if logger is not None]


def finish(config: TrainConfig, run: Run, content: Mapping[str, Any], history: History) -> None:
    """Add results, predictions and figures to the runs of the trackers, and end them.

    Args:
        config: Settings of the training.
        run: Its folder.
        content: Its metrics.json.
        history: The rows of log.csv.
    """
    for tracker in _trackers(config):
        tracker.finish(config, run, content, history)


def _trackers(config: TrainConfig) -> Iterator[Any]:
    for name in dict.fromkeys((config.logger.name, *config.logger.also)):
        if name != "csv":
            yield import_module(f"figlang.training.trackers.{name}")
