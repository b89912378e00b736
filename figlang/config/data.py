"""Which data set, and which part of it: the group data."""

from dataclasses import dataclass, field, fields
from math import inf
from typing import Any

from pydantic import TypeAdapter, ValidationError

from figlang.config.section import COUNT, SEED, Range, Section, option
from figlang.errors import FiglangError


@dataclass
class DataConfig(Section):
    name: str = option("figqa_sample", "Name in reports and run folders.")
    dataset: str = option("figqa", "Task that the items are of, which reads the files; mix: several.")
    mix: dict[str, float] = field(
        default_factory=dict,
        metadata={
            "help": (
                "dataset=mix: how often an epoch sees the items of each task, by its name. 0.5: every "
                "second group of items. 0: none."
            ),
            "choices": (),
        },
    )
    size: str = option("medium", "Training file, of a task that has several: its size, as presets name it.")
    question: str = option(
        "both", "Question type, of a task that has several; a wrong one is answered by the list of them."
    )
    order: str = option(
        "seeded",
        "Judgements of two candidates: in an order drawn for each triple, in both orders, or in the file's, "
        "which has apt ones first.",
        ("seeded", "both", "upstream"),
    )
    seed: int = option(
        0,
        "Seed of the candidates' order, of what data.held_out holds out, and of what a proportion of a "
        "mixture takes.",
        within=SEED,
    )
    held_out: float = option(
        0.25,
        "question=paraphrase: share of the sentences that is the validation part; 1 takes all.",
        within=Range(least=0, most=1),
    )
    pos: str | None = option(
        None,
        "Parts of speech of marked words: tab-separated file with idx, target, upos; null takes "
        "derived/pos_from_vua_seq.tsv if it is beside the tables.",
    )
    tagger: str | None = option(
        None, "spaCy pipeline for targets without part of speech: en_core_web_sm, or a folder."
    )
    root: str | None = option(
        None, "Folder that holds the data sets, instead of paths.data; may be package:<module>/<path>."
    )
    train: str | None = option(
        None,
        "Files of your own: training file with startphrase, ending1, ending2, labels (0 for ending1, 1 for "
        "ending2).",
    )
    validation: str | None = option(None, "Files of your own: validation file with the same columns.")
    test: str | None = option(
        None, "Files of your own: test file with the same columns; label -1 means hidden."
    )
    test_labels: str | None = option(
        None, "CSV file with a column `labels` for a test split whose labels are hidden."
    )
    strict: bool = option(False, "Refuse a file with any row-level problem instead of noting it.")
    drop_duplicates: bool = option(
        True, "Files of your own: leave out labelled rows that repeat an earlier row."
    )
    drop_near_duplicates: bool = option(
        True, "Drop training items whose metaphor also occurs in validation or test."
    )
    limit: int | None = option(None, "Use only the first N items of each split.", within=COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.dataset == "mix") != bool(self.mix):
            raise FiglangError(
                f"data.mix and data.dataset=mix go together; this is data={self.name} with "
                f"dataset={self.dataset}"
            )
        if odd := [name for name, proportion in self.mix.items() if not 0 <= proportion < inf]:
            raise FiglangError(f"data.mix.{odd[0]}={self.mix[odd[0]]} must be at least 0 and finite")
        if self.mix and not any(self.mix.values()):
            raise FiglangError("every part of data.mix is 0, so that nothing is left to train on; raise one")


def settings_of_data(settings: Any, where: str) -> DataConfig:
    """Settings of data as a finished run wrote them down, in the file that `where` names.

    Raises FiglangError for what they cannot be: others than DataConfig has, or of other types.
    """
    names = [spec.name for spec in fields(DataConfig)]
    wrong = None if isinstance(settings, dict) else "they are no object in braces"
    if wrong is None and (unknown := [name for name in settings if name not in names]):
        wrong = f"there is no data.{unknown[0]}"
    try:
        if wrong is None:
            return TypeAdapter(DataConfig).validate_python(settings, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        wrong = f"data.{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise FiglangError(
        f"{where} has settings of data that are none ({wrong}); put the file back, or name data=PRESET"
    )
