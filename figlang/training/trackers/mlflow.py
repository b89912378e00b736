"""MLflow: one MLflow run for each run folder. A resumed training continues it.

Without logger.uri or MLFLOW_TRACKING_URI the runs are in mlflow.db below paths.runs, which
`mlflow ui --backend-store-uri sqlite:///runs/mlflow.db` shows.
"""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger, MLFlowLogger
from pytorch_lightning.utilities import rank_zero_only

from figlang.config import TrainConfig
from figlang.errors import FiglangError, one_line
from figlang.files.redaction import arguments_without_secrets
from figlang.files.whole import write_text
from figlang.runs.training import Run
from figlang.training.trackers.common import History, last_step, library, name_of, results, settings

log = logging.getLogger("figlang")

IDENTITY = "mlflow-run.txt"


def start(config: TrainConfig, run: Run) -> Logger | None:
    """Lightning's logger, with its MLflow run begun or continued.

    Returns:
        None for all processes but the first.

    Raises:
        FiglangError: If MLflow is not installed, or its server or database cannot be used.
    """
    mlflow = library("mlflow", "mlflow or mlflow-skinny", "mlflow")
    for noisy in ("mlflow", "alembic"):  # how the database is made
        logging.getLogger(noisy).setLevel(logging.WARNING)
    identity = run.folder / IDENTITY
    known = identity.read_text(encoding="utf-8").strip() if identity.is_file() else None
    if rank_zero_only.rank != 0:
        return None
    try:
        with _quiet(), arguments_without_secrets():  # the client saves the command line
            kept = _logger(config, run, known)
            if known is None:
                kept.log_hyperparams(dict(settings(config)))
                write_text(identity, f"{kept.run_id}\n")
            else:
                kept.experiment.set_terminated(known, "RUNNING")
    except (mlflow.exceptions.MlflowException, OSError) as error:
        raise FiglangError(
            f"logger=mlflow: {one_line(error)}; set logger.uri=ADDRESS, or remove {identity} to begin a new "
            "MLflow run"
        ) from error
    return kept


def finish(config: TrainConfig, run: Run, content: Mapping[str, Any], history: History) -> None:
    """Add results with intervals, predictions, figures and, if set, the model.

    The arguments are those of every tracker.
    """
    import mlflow

    known = (run.folder / IDENTITY).read_text(encoding="utf-8").strip()
    try:
        with _quiet():
            kept = _logger(config, run, known)
            kept.log_metrics(results(content), last_step(history))
            client = kept.experiment
            client.set_tag(known, "signature", content["signature"])
            client.log_artifact(known, str(run.predictions))
            if run.figures.is_dir():
                client.log_artifacts(known, str(run.figures), "figures")
            if config.logger.model:
                client.log_artifacts(known, str(run.model), "model")
            kept.finalize("success")
    except (mlflow.exceptions.MlflowException, OSError) as error:
        # The training is complete, and its results are in its folder.
        log.warning("MLflow: %s; the results in %s are complete", one_line(error), run.folder)


def _logger(config: TrainConfig, run: Run, known: str | None) -> MLFlowLogger:
    runs = Path(config.paths.runs).expanduser().absolute()
    address = config.logger.uri or os.environ.get("MLFLOW_TRACKING_URI")
    if address is None:
        runs.mkdir(parents=True, exist_ok=True)
    return MLFlowLogger(
        experiment_name=config.logger.project,
        run_name=name_of(run),
        run_id=known,
        tracking_uri=address or f"sqlite:///{runs / 'mlflow.db'}",
        artifact_location=None if address else (runs / "mlflow").as_uri(),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings of MLflow's database library, which are about MLflow's own code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
