"""The options of `train`."""

from dataclasses import dataclass, field
from typing import ClassVar

from figlang.config.data import DataConfig
from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.peft import PeftConfig
from figlang.config.groups.scoring import NliConfig, ScoringConfig
from figlang.config.groups.trainer import LoggerConfig, PathsConfig, TrainerConfig
from figlang.config.section import BLIND, SEED, Command, option, words
from figlang.errors import FiglangError


@dataclass
class TrainConfig(Command):
    """Train, export, evaluate and report."""

    kept_in: ClassVar[str] = ""
    """The folder below paths.runs that holds the results."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    nli: NliConfig = field(default_factory=NliConfig)
    peft: PeftConfig = field(default_factory=PeftConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    seed: int = option(0, "Seed of initial weights, dropout and data order.", within=SEED)
    run: str | None = option(
        None, "Run folder. null: a name made of model, data, changed options and seed, below paths.runs."
    )
    name: str | None = option(
        None, "Short name of the run in reports and comparisons. null: a name made of what differs."
    )
    resume: str = option(
        "auto", "auto: continue an unfinished run. never: start it again.", ("auto", "never")
    )
    overwrite: bool = option(False, "Replace a finished run.")
    skip_finished: bool = option(
        True,
        "true: show the results of a finished run of the same settings. false: stop with an error instead.",
    )
    also: list[str] = words(
        "Presets of data=, or files of your own, on which the export is evaluated too. The results are in "
        "evaluations/ of the run."
    )
    blind: bool = option(True, BLIND)

    @property
    def whole_steps(self) -> bool:
        """Whether the loss compares all items of a step, so that they must be read together."""
        return not self.model.causal and (self.method.step_wide or self.method.similarity_weight > 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            self.data.file is not None
            and self.data.validation is None
            and self.data.train is None
            and not self.data.file.endswith((".yaml", ".yml"))  # names files of several splits
        ):
            raise FiglangError(
                f"data={self.data.file} has the training items; give data.validation=FILE too, with other "
                "items"
            )
