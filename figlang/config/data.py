"""Which data set, and which part of it: the group data."""

from dataclasses import dataclass, field
from math import inf

from figlang.config.section import COUNT, SEED, Range, Section, option
from figlang.errors import FiglangError

NLI = ("snli", "mnli", "anli", "fever_nli", "snli_dev_test", "nli_mix")
# What data.mix may be made of.
MIXABLE = ("figqa", "munch", "winogrande", *NLI)
# data.dataset: its question types
QUESTIONS = {
    **dict.fromkeys(NLI, ("both", "choice")),
    "miqa": ("both", "implies", "implied-by"),
    "munch": ("both", "word", "sentence", "generation", "paraphrase"),
}


@dataclass
class DataConfig(Section):
    name: str = option("figqa_sample", "Name in reports and run folders.")
    dataset: str = option(
        "figqa",
        "Reader of the files.",
        ("figqa", "figqa_csv", "winogrande", "miqa", "munch", *NLI, "mix"),
    )
    mix: dict[str, float] = field(
        default_factory=dict,
        metadata={
            "help": (
                "dataset=mix: how often an epoch sees the items of each data set, of "
                f"{', '.join(MIXABLE)}; 0 leaves one out."
            ),
            "choices": (),
        },
    )
    size: str = option(
        "medium",
        "Training file: small, medium or large of Fig-QA, any of WinoGrande.",
        ("xs", "small", "medium", "large", "xl", "debiased"),
    )
    question: str = option(
        "both",
        "Question type. MiQA: both, implies, implied-by; MUNCH: judgement of a word, a sentence or both; "
        "generation; paraphrase, "
        "the choice between an apt and an inapt sentence; NLI: choice, between an entailed and a "
        "contradicted hypothesis.",
        ("both", "implies", "implied-by", "word", "sentence", "generation", "paraphrase", "choice"),
    )
    order: str = option(
        "seeded",
        "MUNCH: candidates in an order drawn for each triple, in both orders, or in the file's, which has "
        "apt ones first.",
        ("seeded", "both", "upstream"),
    )
    seed: int = option(
        0,
        "MUNCH: seed of the candidates' order and of the sentences held out; mix: of what a proportion "
        "takes.",
        within=SEED,
    )
    held_out: float = option(
        0.25,
        "MUNCH: share of the sentences that is question=paraphrase's validation part; 1 takes all.",
        within=Range(least=0, most=1),
    )
    pos: str | None = option(
        None,
        "MUNCH: tab-separated file with idx, target, upos; null takes derived/pos_from_vua_seq.tsv if it is "
        "beside the tables.",
    )
    tagger: str | None = option(
        None, "MUNCH: spaCy pipeline for targets without part of speech: en_core_web_sm, or a folder."
    )
    root: str | None = option(
        None, "Folder that holds the data sets, instead of paths.data; may be package:<module>/<path>."
    )
    train: str | None = option(
        None,
        "figqa_csv: training file with startphrase, ending1, ending2, labels (0 for ending1, 1 for ending2).",
    )
    validation: str | None = option(None, "figqa_csv: validation file with the same columns.")
    test: str | None = option(None, "figqa_csv: test file with the same columns; label -1 means hidden.")
    test_labels: str | None = option(
        None, "CSV file with a column `labels` for a test split whose labels are hidden."
    )
    strict: bool = option(False, "Refuse a file with any row-level problem instead of noting it.")
    drop_duplicates: bool = option(True, "figqa_csv: leave out labelled rows that repeat an earlier row.")
    drop_near_duplicates: bool = option(
        True, "Drop training items whose metaphor also occurs in validation or test."
    )
    limit: int | None = option(None, "Use only the first N items of each split.", within=COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        types = QUESTIONS.get(self.dataset, ("both",))
        if self.question not in types:
            raise FiglangError(
                f"data.question={self.question} is none of data={self.name}, which has {', '.join(types)}"
            )
        self._check_mix()
        given = [name for name in ("train", "validation", "test") if getattr(self, name) is not None]
        if self.dataset != "figqa_csv" and given:
            raise FiglangError(f"data.{given[0]} is only read by data=figqa_csv; this is data={self.name}")
        if self.test_labels is not None and self.dataset not in ("figqa", "figqa_csv"):
            raise FiglangError(
                f"data.test_labels is only read with Fig-QA's test split; this is data={self.name}"
            )

    def _check_mix(self) -> None:
        if (self.dataset == "mix") != bool(self.mix):
            raise FiglangError(
                f"data.mix and data.dataset=mix go together; this is data={self.name} with "
                f"dataset={self.dataset}"
            )
        if unknown := [name for name in self.mix if name not in MIXABLE]:
            raise FiglangError(f"data.mix has no part {unknown[0]!r}; choose some of {', '.join(MIXABLE)}")
        if odd := [name for name, proportion in self.mix.items() if not 0 <= proportion < inf]:
            raise FiglangError(f"data.mix.{odd[0]}={self.mix[odd[0]]} must be at least 0 and finite")
        if self.mix and not any(self.mix.values()):
            raise FiglangError("every part of data.mix is 0, so that nothing is left to train on; raise one")
