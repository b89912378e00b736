"""Settings of the commands that let models answer in their own words, and people rate the answers."""

from dataclasses import dataclass, field

from figlang.config.commands import EvaluateConfig
from figlang.config.groups import PathsConfig, SamplingConfig
from figlang.config.section import COUNT, NUMBER, SEED, Command, option
from figlang.errors import FiglangError


@dataclass
class GenerateConfig(EvaluateConfig):
    """Let a causal model answer open questions in its own words, and make the sheet for people to rate
    them."""

    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    kinds: list[str] = field(
        default_factory=lambda: ["metaphorical-literal"],
        metadata={
            "help": (
                "MiQA: registers of premise and conclusion: metaphorical-literal, "
                "metaphorical-metaphorical, literal-literal."
            ),
            "choices": (),
        },
    )
    shots: int = option(0, "MiQA: answered questions before each one, from `rated`.", within=NUMBER)
    rated: str | None = option(
        None, "Folder of a sheet with answers of the same model, which `ratings` are of."
    )
    ratings: list[str] = field(
        default_factory=list, metadata={"help": "Filled-in sheets of the folder `rated`.", "choices": ()}
    )
    cut: str = option(
        "sentence",
        "Fig-QA: what is rated, the first sentence or the text before the first period.",
        ("sentence", "period"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.shots > 0) != (self.rated is not None) or (self.shots > 0) != bool(self.ratings):
            raise FiglangError(
                "shots=, rated= and ratings= go together: examples are rated answers, say shots=5 "
                "rated=FOLDER ratings=[a.csv]"
            )


@dataclass
class RateConfig(Command):
    """Make a rating sheet of the answers in `runs` or `texts`, or say what the filled-in sheets `ratings`
    tell."""

    folder: str = option("runs/ratings", "Folder of the sheet.")
    runs: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Folders of figlang generate whose answers are to be rated, or of figlang "
            "munch_generate, whose words that no "
            "person gave are put into MUNCH's four categories of errors.",
            "choices": (),
        },
    )
    texts: list[str] = field(
        default_factory=list,
        metadata={
            "help": "CSV or JSONL files of answers that were written elsewhere. The columns model, item, "
            "group and kind are "
            "optional.",
            "choices": (),
        },
    )
    scale: str = option("figqa", "texts: the scale of the ratings.", ("figqa", "miqa", "munch"))
    prompt_column: str = option("prompt", "texts: column of the question.")
    answer_column: str = option("answer", "texts: column of the answer that is rated.")
    limit: int | None = option(
        None, "Questions on the sheet, drawn by the seed; null takes all.", within=COUNT
    )
    ratings: list[str] = field(
        default_factory=list, metadata={"help": "Filled-in sheets, one a rater.", "choices": ()}
    )
    paths: PathsConfig = field(default_factory=PathsConfig)
    seed: int = option(0, "Seed of the sheet's order and of what is drawn.", within=SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.runs or self.texts) == bool(self.ratings):
            raise FiglangError(
                "give runs=[FOLDER,…] or texts=[FILE,…] to make a sheet, or ratings=[FILE.csv,…] to read "
                "filled-in ones"
            )
