"""The options of `release`."""

from dataclasses import dataclass, field

from figlang.config.groups.trainer import PathsConfig, TrainerConfig
from figlang.config.presets import DEFAULTS
from figlang.config.section import COUNT, POSITIVE, Command, option, words
from figlang.config.verbs.contamination import AGAINST
from figlang.errors import FiglangError

# Options of a release, which a card that is written again does not need.
OF_A_RUN = ("seeds", "against", "n", "dtype", "limit_mb")


@dataclass
class ReleaseConfig(Command):
    """Write a finished run as a checkpoint for others: rounded weights with a new evaluation, a card,
    predictions, the results of all seeds, and contamination."""

    run: str = option("", "Folder of the finished run that is released.")
    name: str = option("", "Name of the checkpoint.")
    output: str = option("checkpoints", "Folder that the checkpoint is put into.")
    seeds: list[str] = words(
        "Runs of the same recipe, for mean and deviation. Empty: the seed folders beside the run."
    )
    against: list[str] = words(AGAINST, DEFAULTS.against)
    n: int = option(
        8, "Number of words in a row that count as overlap of training and evaluation text.", within=COUNT
    )
    dtype: str = option("float16", "Number format of the released weights.", ("float16", "float32"))
    note: str | None = option(
        None,
        "A further sentence on the card, for example about a setting that was chosen by evaluation items.",
    )
    licence: str | None = option(
        None,
        "Licence of the checkpoint as the hub names it, for example apache-2.0. null: that of the base "
        "network, if figlang knows it.",
    )
    card: bool = option(
        False,
        "Write the card of the released checkpoint name= again from its files, without a new evaluation.",
    )
    beside: list[str] = words(
        "Evaluation folders of the run and of its base model without training. The card then says what the "
        "training improved and what it worsened. Without run=: evaluations of the released checkpoint."
    )
    limit_mb: float = option(
        32.0,
        "Largest size of the checkpoint in megabytes, since repositories keep every version.",
        within=POSITIVE,
    )
    overwrite: bool = option(
        False, "Replace an earlier checkpoint of this name. Your own files in its folder stay."
    )
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.run or self.beside or self.card) or not self.name:
            raise FiglangError(
                "give run=FOLDER, a finished run, and name=NAME for the checkpoint; or name= and "
                "beside=[FOLDER,…] or card=true for its card"
            )
        if not self.run:
            usual = ReleaseConfig(run=self.name, name=self.name)
            changed = [name for name in OF_A_RUN if getattr(self, name) != getattr(usual, name)]
            if changed:
                raise FiglangError(
                    f"{changed[0]}= changes nothing on the card of a released checkpoint; add run=FOLDER, or "
                    "leave it out"
                )
        if self.run and self.card:
            raise FiglangError(
                "run= writes the card of a new checkpoint in any case; leave card= or run= out"
            )
