"""The options of `generate`."""

from dataclasses import dataclass, field
from typing import ClassVar

from figlang.config.groups.sampling import SamplingConfig
from figlang.config.section import NUMBER, option, words
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.errors import FiglangError


@dataclass
class GenerateConfig(EvaluateConfig):
    """Let a causal model answer open questions in its own words, and make the sheet for people to rate
    them."""

    kept_as: ClassVar[str | None] = "answers"

    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    kinds: list[str] = words(
        "Registers of premise and conclusion, if the items have them: metaphorical-literal, "
        "metaphorical-metaphorical or literal-literal.",
        ("metaphorical-literal",),
    )
    shots: int = option(
        0, "Number of answered questions before each question. They come from `rated`.", within=NUMBER
    )
    rated: str | None = option(
        None,
        "Folder of a sheet with answers of the same model, for examples. `ratings` gives the "
        "filled-in sheets.",
    )
    ratings: list[str] = words("Filled-in sheets of the folder `rated`.")
    cut: str = option(
        "sentence",
        "The part of an answer that is rated: its first sentence, or the text before the first period. If "
        "the task's scale is about paragraphs, it is always the first paragraph.",
        ("sentence", "period"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.shots > 0) != (self.rated is not None) or (self.shots > 0) != bool(self.ratings):
            raise FiglangError(
                "shots=, rated= and ratings= go together, since the examples are rated answers; give all "
                "three, such as shots=5 rated=FOLDER ratings=[a.csv]"
            )
