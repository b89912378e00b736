"""The options of `evaluate` and `transfer`, which every verb that asks a model extends."""

from dataclasses import dataclass, field
from typing import ClassVar

from figlang.config.data import DataConfig
from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.prompt import PromptConfig
from figlang.config.groups.protocol import ProtocolConfig
from figlang.config.groups.scoring import NliConfig, ScoringConfig
from figlang.config.groups.trainer import PathsConfig, TrainerConfig
from figlang.config.section import BLIND, COUNT, SEED, TOKENS, Command, option
from figlang.errors import FiglangError


@dataclass
class EvaluateConfig(Command):
    """Evaluate a run folder, a released checkpoint or a pretrained model, and report."""

    kept_as: ClassVar[str | None] = None
    """The part of its folder's name that replaces the split; None: the split."""
    hides: ClassVar[bool] = False
    """Whether a verb that extends this one can hide the context."""
    talks: ClassVar[bool] = False
    """Whether a verb that extends this one takes protocol=."""

    checkpoint: str | None = option(
        None, "Run folder, released folder or hub id. null: the pretrained model of model=, zero-shot."
    )
    epoch: str = option(
        "exported",
        "exported: the epoch that the run exported. best: of an unfinished run, the best epoch so far; it is "
        "kept by runs with method.selection=heldout or validation.",
        ("exported", "best"),
    )
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    # None: a checkpoint's own; `clean` for a pretrained causal model.
    scoring: ScoringConfig | None = None
    # None: the protocol letter, where scoring=letter asks a chat model.
    protocol: ProtocolConfig | None = None
    prompt: PromptConfig = field(default_factory=PromptConfig)
    nli: NliConfig = field(default_factory=NliConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    split: str = option(
        "validation",
        "Split to evaluate. A data set with a single split has it as validation and as test.",
        ("validation", "test", "train"),
    )
    name: str | None = option(
        None, "Name of the folder of results. null: a name made of data, split and changed options."
    )
    output: str | None = option(
        None, "Folder of predictions, metrics and report. null: beside the checkpoint, or below paths.runs."
    )
    revision: str | None = option(None, "Branch, tag or commit of a hub id.")
    batch_size: int = option(64, "Items per forward pass.", within=COUNT)
    max_length: int | None = option(
        None,
        "Encoders: the longest input in tokens. null: the length that the model was trained with.",
        within=TOKENS,
    )
    blind: bool = option(True, BLIND)
    seed: int = option(0, "Seed of everything that an evaluation draws.", within=SEED)
    overwrite: bool = option(False, "Replace a finished result of other settings.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_protocol()
        if not self.blind and not (self.hides or type(self) is EvaluateConfig):
            raise FiglangError(
                "blind=false is for figlang evaluate, figlang transfer and tables of choices; this command "
                "hides no context, so leave it out"
            )
        if self.epoch == "best" and (self.checkpoint is None or type(self) is not EvaluateConfig):
            raise FiglangError("epoch=best is for figlang evaluate with checkpoint=RUN; leave it out")
        if self.checkpoint is not None and not self.checkpoint:
            raise FiglangError("checkpoint= is empty; give a run folder, a released folder or a hub id")
        if self.data.test_labels is not None and self.split != "test":
            raise FiglangError(f"data.test_labels is for split=test, this is split={self.split}")

    def _check_protocol(self) -> None:
        """Make `protocol=` mean `scoring=letter`. Raises FiglangError where it has no effect."""
        if self.protocol is None:
            return
        if not (self.talks or type(self) is EvaluateConfig):
            raise FiglangError("protocol= is for figlang evaluate, transfer and sensitivity; leave it out")
        if self.scoring is None:
            self.scoring = ScoringConfig(name="letter", kind="letter")
        if self.scoring.kind != "letter":
            raise FiglangError(
                f"protocol={self.protocol.name} asks a chat model, but scoring={self.scoring.name} does not; "
                "leave scoring= out"
            )
