"""Weights & Biases: one W&B run for each run folder. A resumed training continues it."""

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from pytorch_lightning.loggers import Logger, WandbLogger
from pytorch_lightning.utilities import rank_zero_only

from figlang.config import TrainConfig
from figlang.errors import FiglangError, one_line
from figlang.files.redaction import arguments_without_secrets, redacted
from figlang.files.whole import write_text
from figlang.runs.training import Run
from figlang.training.base import SELECTION
from figlang.training.trackers.common import History, library, name_of, settings

log = logging.getLogger("figlang")


def start(config: TrainConfig, run: Run) -> Logger | None:
    """Lightning's logger, with its W&B run begun or continued.

    Returns:
        None with logger.mode=disabled.

    Raises:
        FiglangError: If wandb is missing or its server cannot be reached.
    """
    mode = config.logger.mode
    if mode == "disabled":
        return None
    wandb = library("wandb", "wandb", "wandb")
    first = rank_zero_only.rank == 0
    if first and wandb.run is not None:  # left by an earlier run of a multirun, which failed
        wandb.run.finish(exit_code=1)
    kept = WandbLogger(
        name=name_of(run),
        id=_identity(run) if first else None,
        project=config.logger.project,
        entity=config.logger.entity,
        # A client that another program has started (WANDB_SERVICE) has its own working directory.
        save_dir=run.folder.absolute(),
        offline=mode == "offline",
        resume=None if mode == "offline" else "allow",
    )
    try:
        with arguments_without_secrets():  # the client saves the command line
            kept.log_hyperparams(dict(settings(config)))
    except (wandb.errors.Error, ValueError) as error:
        remedy = "log in with `wandb login`, or take logger.mode=offline"
        if mode == "offline":  # no server was asked, so a setting is wrong
            remedy = "give another logger.project or logger.entity"
        raise FiglangError(f"logger=wandb: {one_line(error)}; {remedy}") from error
    return kept


def finish(config: TrainConfig, run: Run, content: Mapping[str, Any], history: History) -> None:
    """Add metrics with intervals, predictions, figures and, if set, the model to the W&B run, and end it.

    A sweep compares exported epochs, so the summary has the lowest selection loss. The arguments are those of
    every tracker.
    """
    if config.logger.mode == "disabled":
        return
    import wandb

    current = wandb.run
    if current is None:
        return
    try:
        lines = run.predictions.read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line]
        columns: list[str | int] = ["id", "group", "gold", "choice", "scores"]
        table = wandb.Table(columns=columns, data=[[row[str(name)] for name in columns] for row in rows])
        images = {
            f"figures/{path.stem}": wandb.Image(str(path)) for path in sorted(run.figures.glob("*.png"))
        }
        current.log({"predictions": table, **images})
        for name, estimate in content["metrics"].items():
            if isinstance(estimate, Mapping) and "value" in estimate:
                current.summary[f"final/{name}"] = dict(estimate)
        if "gain" in content:
            current.summary["final/blind_accuracy"] = dict(content["blind"]["accuracy"])
            current.summary["final/gain"] = dict(content["gain"])
        if losses := [
            value for *_, split, metric, value in history if (split, metric) == ("selection", "loss")
        ]:
            current.summary[SELECTION] = min(losses)
        current.summary["signature"] = content["signature"]
        if config.logger.model:
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", redacted(config.model.name))
            artifact = wandb.Artifact(
                f"{plain}-{current.id}", type="model", metadata={"signature": content["signature"]}
            )
            artifact.add_dir(str(run.model))
            current.log_artifact(artifact)
        current.finish()
    except wandb.errors.Error as error:
        # The training is complete. What was logged so far is in its folder.
        log.warning("W&B: %s; `wandb sync %s` sends it later", one_line(error), run.folder / "wandb")


def preempted() -> None:
    """Tell W&B that the run of a sweep was stopped from outside and may continue.

    Runs outside a sweep are resumed by their own command.
    """
    if "WANDB_SWEEP_ID" not in os.environ or rank_zero_only.rank != 0 or "wandb" not in sys.modules:
        return
    import wandb

    if wandb.run is not None:
        wandb.run.mark_preempting()


def _identity(run: Run) -> str:
    """The id of the W&B run.

    It is that of a sweep's agent, or one that is kept in the run folder for a resumed training.
    """
    if given := os.environ.get("WANDB_RUN_ID"):
        return given
    path = run.folder / "wandb-id.txt"
    if not path.is_file():
        write_text(path, uuid4().hex[:12] + "\n")
    return path.read_text().strip()
