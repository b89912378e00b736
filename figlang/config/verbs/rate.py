"""The options of `rate`."""

from dataclasses import dataclass, field

from figlang.config.groups import PathsConfig
from figlang.config.section import COUNT, SEED, Command, option, words
from figlang.errors import FiglangError


@dataclass
class RateConfig(Command):
    """Make a sheet on which people rate the answers in `runs` or `texts`, or evaluate the filled-in sheets in
    `ratings`."""

    folder: str = option("runs/ratings", "Folder of the sheet.")
    runs: list[str] = words(
        "Folders of answers to rate, from `figlang generate`; or folders of ranked words, from `figlang "
        "reproduce`. People then give each word that no person wrote a category of error."
    )
    texts: list[str] = words(
        "CSV or JSONL files of answers that were written elsewhere. The columns model, item, group and kind "
        "are optional."
    )
    scale: str | None = option(
        None, "texts: the scale of the ratings. null: correct, incorrect, literal, ambiguous."
    )
    prompt_column: str = option("prompt", "texts: the column of the question.")
    answer_column: str = option("answer", "texts: the column of the answer that is rated.")
    limit: int | None = option(
        None, "Number of questions on the sheet, drawn with `seed`. null: all questions.", within=COUNT
    )
    ratings: list[str] = words("Filled-in sheets, one for each rater.")
    paths: PathsConfig = field(default_factory=PathsConfig)
    seed: int = option(0, "Seed of the order of the sheet and of the questions on it.", within=SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.runs or self.texts) == bool(self.ratings):
            raise FiglangError(
                "give runs=[FOLDER,…] or texts=[FILE,…] to make a sheet, or ratings=[FILE.csv,…] to "
                "evaluate filled-in sheets"
            )
