"""Comet: one experiment for each run folder; offline unless logger.mode=online."""

from collections.abc import Mapping
from typing import Any

from pytorch_lightning.loggers import CometLogger, Logger

from figlang.config import TrainConfig
from figlang.errors import FiglangError, one_line
from figlang.files.redaction import arguments_without_secrets
from figlang.runs.training import Run
from figlang.training.trackers.common import History, last_step, library, results, settings

_STARTED: dict[Run, CometLogger] = {}


def start(config: TrainConfig, run: Run) -> Logger:
    """Lightning's logger, with a new experiment.

    Raises:
        FiglangError: If Comet's client is not installed, or has no key.
    """
    library("comet", "comet-ml", "comet_ml")
    try:
        with arguments_without_secrets():
            kept = CometLogger(
                workspace=config.logger.entity,
                project=config.logger.project,
                online=config.logger.mode == "online",
            )
    except (ValueError, OSError) as error:
        raise FiglangError(f"logger=comet: {one_line(error)}; set COMET_API_KEY") from error
    kept.log_hyperparams(dict(settings(config)))
    _STARTED[run] = kept
    return kept


def finish(config: TrainConfig, run: Run, content: Mapping[str, Any], history: History) -> None:
    """Add results with intervals and the figures. The arguments are those of every tracker."""
    kept = _STARTED.pop(run)
    kept.log_metrics(results(content), last_step(history))
    for path in sorted(run.figures.glob("*.png")):
        kept.experiment.log_image(str(path), name=path.stem)
    kept.experiment.end()
