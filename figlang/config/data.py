"""The group data: which data set is used, and which part of it."""

import re
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any

from figlang.config.groups.columns import ColumnsConfig
from figlang.config.presets import DEFAULTS
from figlang.config.section import COUNT, SEED, Range, Section, option
from figlang.errors import FiglangError


@dataclass
class DataConfig(Section):
    name: str = option(DEFAULTS.small, "Name in reports and run folders.")
    dataset: str = option(DEFAULTS.task, "Name of the task, which reads the files. mix: several tasks.")
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
    size: str = option("medium", "Size of the training file, if the task has several training files.")
    question: str = option(
        "both", "Question type, if the task has several. The error for a wrong type lists them."
    )
    order: str = option(
        "seeded",
        "Order of two candidates: drawn for each triple, both orders, or as in the file (upstream), with "
        "apt candidates first.",
        ("seeded", "both", "upstream"),
    )
    seed: int = option(
        0,
        "Seed of the candidates' order, of what data.held_out holds out, of folds, of recombined items, and "
        "of the draw for a proportion of a mixture.",
        within=SEED,
    )
    held_out: float = option(
        0.25,
        "question=paraphrase: share of the sentences in the validation part. 1: all of them.",
        within=Range(least=0, most=1),
    )
    fold: str | None = option(
        None,
        "K/N, for example 1/2: groups (pairs) of training items are dealt to N folds by their names and "
        "data.seed. Training leaves fold K out, and split=train evaluates fold K alone.",
    )
    recombined: int = option(
        0,
        "Training: this many items without a label, at most. Each has the beginning of one English context "
        "and the image of another with the same frame (as ADJECTIVE as, the NOUN of), and the options of the "
        "first. Only a method.teacher_model can teach them.",
        within=Range(least=0, most=10**7),
    )
    pos: str | None = option(
        None,
        "Parts of speech of marked words: tab-separated file with the columns idx, target and upos. null: "
        "derived/pos_from_vua_seq.tsv beside the tables, if it exists.",
    )
    tagger: str | None = option(
        None, "spaCy pipeline (en_core_web_sm, or a folder) for targets without a part of speech."
    )
    root: str | None = option(
        None, "Folder that holds the data sets, instead of paths.data; may be package:<module>/<path>."
    )
    file: str | None = option(
        None,
        "A file of your own: all items of the split that is evaluated, or the training items if data.train "
        "is not set. .csv, .tsv, .jsonl, .json, .parquet, or a .yaml that figlang describe wrote. data=FILE "
        "is short for it.",
    )
    columns: ColumnsConfig = field(
        default_factory=ColumnsConfig,
        metadata={"help": "data=own: the columns of an item's parts.", "choices": ()},
    )
    hub: str | None = option(
        None,
        "data=own: data set on the Hugging Face hub, ORG/NAME or ORG/NAME:CONFIGURATION, or a folder that "
        "`datasets` saved. data=./NAME is short for a folder.",
    )
    published: str | None = option(
        None,
        "data=own: CSV file with published numbers: system, split, metric, value (in per cent), source. "
        "null: NAME.published.csv beside the file NAME.*, if there is one.",
    )
    train: str | None = option(
        None,
        "Files of your own: training file, with the columns of the evaluated file.",
    )
    validation: str | None = option(None, "Files of your own: validation file with the same columns.")
    test: str | None = option(
        None, "Files of your own: test file with the same columns; label -1 means hidden."
    )
    test_labels: str | None = option(
        None, "CSV file with the column `labels`, for a test split with hidden labels."
    )
    strict: bool = option(
        False,
        "Stop with an error if a row has a problem. false: note it, and leave out rows that cannot be used.",
    )
    drop_duplicates: bool = option(
        True,
        "Files of your own, and data sets with repeated rows: leave out labelled rows that repeat an earlier "
        "row.",
    )
    drop_near_duplicates: bool = option(
        True, "Training: drop training items whose metaphor also occurs in validation or test."
    )
    limit: int | None = option(
        None,
        "Use only the first N items of each split. They are equally many of each part, if a data set "
        "has parts, for example languages. A pair that is cut counts as items, not as a pair.",
        within=COUNT,
    )
    train_limit: int | None = option(
        None,
        "Training: use only the first N training items that evaluated items do not repeat. The evaluated "
        "items stay the same, so several values make a learning curve.",
        within=COUNT,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fold is not None and not _a_fold(self.fold):
            raise FiglangError(
                f"data.fold={self.fold} must be K/N with K from 1 to N and N from 2 to 1000, for example 1/2"
            )
        if (self.dataset == "mix") != bool(self.mix):
            raise FiglangError(
                f"data.mix and data.dataset=mix go together, but data={self.name} has "
                f"data.dataset={self.dataset}; set both, or neither"
            )
        if odd := [name for name, proportion in self.mix.items() if not 0 <= proportion < inf]:
            raise FiglangError(f"data.mix.{odd[0]}={self.mix[odd[0]]} must be at least 0 and finite")
        if self.mix and not any(self.mix.values()):
            raise FiglangError("every part of data.mix is 0, so there are no training items; raise one")


def _a_fold(fold: str) -> bool:
    parts = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", fold, flags=re.ASCII)
    return parts is not None and int(parts[1]) <= int(parts[2]) and 2 <= int(parts[2]) <= 1000


def settings_of_data(settings: Any, where: str) -> DataConfig:
    """Read the settings of data that a finished run wrote to the file `where`. Raises FiglangError if a
    setting is unknown or of another type.
    """
    # It takes a moment to import, and no command line needs it.
    from pydantic import TypeAdapter, ValidationError

    names = [spec.name for spec in fields(DataConfig)]
    wrong = None if isinstance(settings, dict) else "they are not an object in braces"
    if wrong is None and (unknown := [name for name in settings if name not in names]):
        wrong = f"there is no data.{unknown[0]}"
    try:
        if wrong is None:
            return TypeAdapter(DataConfig).validate_python(settings, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        wrong = f"data.{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise FiglangError(f"{where} has wrong settings of data ({wrong}); restore the file, or give data=PRESET")
