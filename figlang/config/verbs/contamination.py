"""The options of `contamination`."""

from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups.trainer import PathsConfig
from figlang.config.presets import DEFAULTS
from figlang.config.section import COUNT, Command, option, words
from figlang.errors import FiglangError

AGAINST = (
    "Presets of data=, or files of your own, whose evaluation items are looked for in the training items."
)


@dataclass
class ContaminationConfig(Command):
    """Find the evaluation items that share text (n-grams of words) with the training items of data=."""

    data: DataConfig = field(default_factory=DataConfig)
    against: list[str] = words(AGAINST, DEFAULTS.against)
    n: int = option(
        8, "Number of words in a row that count as overlap. Shorter texts have to be equal.", within=COUNT
    )
    run: str | None = option(
        None, "Folder of a run on data=. The training data of the runs that it continued count too."
    )
    runs: list[str] = words(
        "Folders of runs or evaluations. Their accuracy on the clean items is shown beside that on all items."
    )
    output: str | None = option(
        None, "Folder of the table and the ids of the items. null: a folder below paths.runs."
    )
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.against:
            raise FiglangError(f"against= is empty; give presets such as [{','.join(DEFAULTS.against)}]")
