"""The options of `create`."""

from dataclasses import dataclass, field

from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.trainer import PathsConfig, TrainerConfig
from figlang.config.section import COUNT, NUMBER, SEED, Command, Range, option, words
from figlang.errors import FiglangError

SIMILARITY = Range(above=0, most=1)  # and a share above 0
PART = Range(least=0, most=1)


@dataclass
class CreateConfig(Command):
    """Make a benchmark: prompts for writers, or checks, splits and a data card of what they wrote."""

    prompts: int | None = option(
        None, "Number of prompts for writers. Each has a frame for two opposite metaphors.", within=COUNT
    )
    file: str | None = option(
        None, "Table of prompts that writers filled in, or any other file with items that data= takes."
    )
    output: str | None = option(None, "Folder of what is made. null: a folder below paths.runs.")
    name: str | None = option(None, "Name of the benchmark in its card. null: the name of the file.")
    about: str | None = option(
        None, "Text file about purpose, writers and licence, which becomes a part of the card."
    )
    against: list[str] = words(
        "Presets of data=, or files of your own. Items with a near-duplicate in one of their splits are "
        "dropped."
    )
    alike: float = option(
        0.75, "Smallest Jaccard similarity of the words of near-duplicates.", within=SIMILARITY
    )
    model: ModelConfig | None = None
    # Presets of encoders set it.
    method: MethodConfig = field(default_factory=MethodConfig)
    checkpoints: list[str] = words(
        "Runs or checkpoints that choose with the context hidden, for example one training by several seeds."
    )
    guesses: int = option(
        10,
        "Number of seeds of the small learner that sees the words of options only. 0: none.",
        within=NUMBER,
    )
    keep: str = option(
        "all",
        "all: keep flagged items. hard: drop a pair if all of its items are flagged. hardest: drop it if one "
        "is.",
        ("all", "hard", "hardest"),
    )
    ratings: list[str] = words(
        "CSV files of what other people chose: people.csv of `figlang rate serve`, or filled-in copies of "
        "sheet.csv."
    )
    agree: float = option(
        0.5,
        "ratings: a pair is dropped if less than this share of people chose the writer's option of one of "
        "its items.",
        within=PART,
    )
    validation: float = option(0.2, "Share of the items that the validation split gets.", within=SIMILARITY)
    test: float = option(
        0.2, "Share of the items that the test split gets. Training gets the rest.", within=PART
    )
    batch_size: int = option(64, "Items that an encoder reads at a time.", within=COUNT)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    seed: int = option(0, "Seed of frames, divisions and the order of the sheet.", within=SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.prompts is None) == (self.file is None):
            raise FiglangError(
                "give prompts=N to make prompts for writers, or file=FILE to check what they wrote"
            )
        if self.prompts is not None and (self.model is not None or self.checkpoints or self.ratings):
            raise FiglangError(
                "model=, checkpoints= and ratings= need items; give file=FILE in place of prompts="
            )
        if self.validation + self.test > 1:
            raise FiglangError(
                f"validation={self.validation:g} and test={self.test:g} are more than 1 together; "
                "give smaller shares"
            )
