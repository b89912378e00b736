"""The groups trainer, logger and paths: hardware, and where things are logged and kept."""

import re
from dataclasses import dataclass

from figlang.config.section import Range, Section, option, words
from figlang.errors import FiglangError

TRACKERS = ("csv", "tensorboard", "mlflow", "wandb", "comet")


@dataclass
class TrainerConfig(Section):
    accelerator: str = option("auto", "Kind of device, as Lightning names it.", ("auto", "cpu", "gpu", "mps"))
    devices: str = option("auto", "Number of devices of a node. auto: all of them.")
    nodes: int | None = option(
        None,
        "Number of nodes. null: as torchrun or SLURM started the processes.",
        within=Range(above=0, most=2**16),
    )
    strategy: str = option(
        "auto",
        "Distributed strategy. ddp: every process holds the whole network. fsdp, deepspeed_3: weights, "
        "gradients and optimizer state are shared out. deepspeed_2: gradients and optimizer state; offload: "
        "in the memory of the processor. deepspeed_1: optimizer state. auto: what Lightning takes.",
        ("auto", "ddp", "fsdp", "deepspeed_1", "deepspeed_2", "deepspeed_2_offload", "deepspeed_3"),
    )
    precision: str = option(
        "auto",
        "Precision of the arithmetic. auto: bf16 autocast if the hardware has it, otherwise 32-bit.",
        ("auto", "32-true", "bf16-mixed", "16-mixed"),
    )
    threads: int | None = option(
        None, "CPU threads. null: as many as torch chooses.", within=Range(above=0, most=1024)
    )
    progress: bool = option(True, "Show progress bars.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.devices != "auto" and not re.fullmatch("[1-9][0-9]{0,8}", self.devices):
            raise FiglangError(f"trainer.devices={self.devices} must be auto or a number above 0")


@dataclass
class LoggerConfig(Section):
    name: str = option(
        "csv", "Where curves and results go. log.csv in the run folder is always written.", TRACKERS
    )
    also: list[str] = words("Further trackers: logger=tensorboard logger.also=[mlflow].")
    project: str = option("figlang", "Project of W&B or Comet, experiment of MLflow.")
    entity: str | None = option(
        None, "User or team of W&B, workspace of Comet. null: the default of the account."
    )
    mode: str = option(
        "offline",
        "Mode of W&B and Comet. offline: keep everything on this machine.",
        ("online", "offline", "disabled"),
    )
    uri: str | None = option(
        None, "Address of MLflow's server. null: MLFLOW_TRACKING_URI, or mlflow.db below paths.runs."
    )
    model: bool = option(False, "Also send the exported model to W&B or MLflow.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := [name for name in self.also if name not in TRACKERS]:
            raise FiglangError(
                f"logger.also={unknown[0]} is not a choice; choose some of {', '.join(TRACKERS)}"
            )


@dataclass
class PathsConfig(Section):
    data: str | None = option(
        None,
        "Folder with the data sets, each in a folder of its name, laid out as its authors publish it. "
        "null: download them.",
    )
    tasks: str | None = option(
        None,
        "Folder with a task.py of your own, a benchmark that is not in figlang. "
        "data.dataset=NAME asks for it.",
    )
    runs: str = option("runs", "Folder for run folders.")
    cache: str = option(
        "~/.cache/figlang",
        "Folder for downloaded data, answers of servers and sentence vectors of teachers.",
    )
