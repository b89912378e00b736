"""What each command takes: groups of options and fields of its own."""

from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups import (
    LoggerConfig,
    MethodConfig,
    ModelConfig,
    NliConfig,
    PathsConfig,
    PeftConfig,
    PromptConfig,
    ScoringConfig,
    TrainerConfig,
)
from figlang.config.section import COUNT, NUMBER, POSITIVE, SEED, SHARE, TOKENS, Command, option
from figlang.errors import FiglangError

BLIND = (
    "Also score the options with the context hidden, and report the gain over that. Questions to a chat or "
    "an endpoint are asked "
    "twice for it; false leaves it out."
)


@dataclass
class TrainConfig(Command):
    """Train, export, evaluate and report."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    nli: NliConfig = field(default_factory=NliConfig)
    peft: PeftConfig = field(default_factory=PeftConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    seed: int = option(0, "Seed of initial weights, dropout and data order.", within=SEED)
    run: str | None = option(None, "Run folder; null derives it from model, data, overrides and seed.")
    resume: str = option("auto", "auto continues an unfinished run; never starts it anew.", ("auto", "never"))
    overwrite: bool = option(False, "Replace a finished run.")
    skip_finished: bool = option(True, "Show a finished run of the same settings again; false refuses it.")
    also: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Presets of data= that the export is evaluated on too, below evaluations/ of the run.",
            "choices": (),
        },
    )

    blind: bool = option(True, BLIND)


@dataclass
class EvaluateConfig(Command):
    """Evaluate a run folder, a released checkpoint or a pretrained model, and report."""

    checkpoint: str | None = option(
        None, "Run folder, released folder or hub id; null: the pretrained model=PRESET, zero-shot."
    )
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    # None: a checkpoint's own; `clean` for a pretrained causal model.
    scoring: ScoringConfig | None = None
    prompt: PromptConfig = field(default_factory=PromptConfig)
    nli: NliConfig = field(default_factory=NliConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    split: str = option(
        "validation",
        "Split to evaluate; MiQA has one, under any name but train.",
        ("validation", "test", "train"),
    )
    name: str | None = option(
        None, "Name of the evaluation's folder; null derives it from data, split and overrides."
    )
    output: str | None = option(
        None, "Folder for predictions, metrics and report; null: beside the checkpoint or below paths.runs."
    )
    revision: str | None = option(None, "Branch, tag or commit of a hub id.")
    batch_size: int = option(64, "Items per forward pass.", within=COUNT)
    max_length: int | None = option(
        None,
        "Encoders: longest input in tokens; null is the model's own, which it was trained with.",
        within=TOKENS,
    )
    blind: bool = option(True, BLIND)
    seed: int = option(0, "Seed of whatever an evaluation draws.", within=SEED)
    overwrite: bool = option(False, "Replace a finished result of other settings.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.blind and type(self) is not EvaluateConfig:
            raise FiglangError(
                "blind=false is for evaluate.py and figlang transfer; this command hides no context, so "
                "leave it out"
            )
        if self.checkpoint is not None and not self.checkpoint:
            raise FiglangError("checkpoint= is empty; give a run folder, a released folder or a hub id")
        if self.data.test_labels is not None and self.split != "test":
            raise FiglangError(f"data.test_labels is for split=test, this is split={self.split}")


@dataclass
class MiqaTable3Config(EvaluateConfig):
    """MiQA's Table 3: every prompt, number of examples and question type, by one causal model that is loaded
    once."""

    questions: list[str] = field(
        default_factory=lambda: ["or", "numbered", "qa", "question_answer", "no_choices", "no_questions"],
        metadata={
            "help": "Prompts, instead of prompt.question; prompt.template adds one of yours.",
            "choices": (),
        },
    )
    shots: list[int] = field(
        default_factory=lambda: [0, 1, 5],
        metadata={"help": "Numbers of examples, instead of prompt.k.", "choices": (), "within": NUMBER},
    )
    one_by_one: int = option(
        0, "Also score so many items' strings one by one, to measure what sharing spares.", within=NUMBER
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.questions or not self.shots:
            raise FiglangError("questions= and shots= must name at least one each")


@dataclass
class MunchConfig(EvaluateConfig):
    """One of MUNCH's tasks with several prompts, and the tests of Tables 10 to 12."""

    prompts: list[str] = field(
        default_factory=list,
        metadata={"help": "Ids of prompts, instead of prompt.question; empty takes all.", "choices": ()},
    )
    ddof: int = option(1, "Deviation over prompts: 1, of a sample; 0, of all there are.", ("0", "1"))
    quantity_test: str = option(
        "welch", "Test of novelty, right against wrong answers.", ("welch", "mann_whitney")
    )
    class_test: str = option(
        "chi2",
        "Test of two classes of genre or part of speech; chi2 without continuity correction is the z test "
        "of two proportions.",
        ("chi2", "chi2_yates", "fisher"),
    )
    least: int = option(
        20, "Classes with fewer cases are not tested: MUNCH has 10 triples with an adverb.", within=COUNT
    )


@dataclass
class MunchJudgeConfig(MunchConfig):
    """MUNCH's Tables 2 and 9 to 12: all 18 judgement prompts by one causal model that is loaded once."""

    one_by_one: int = option(
        0, "Also score so many triples' answers one by one, to measure what sharing spares.", within=NUMBER
    )


@dataclass
class MunchGenerateConfig(MunchConfig):
    """MUNCH's Tables 3 and 10 to 12: where the words that people gave come in a model's ranking, for all
    three prompts."""

    form: str | None = option(
        None,
        "quote: the model goes on from a quotation mark, as LLaMA did; insert: it fills in a blank, as "
        "GPT-3.5 did (a served model "
        "by the field `suffix` of completions). null: quote, insert for masked models.",
        ("quote", "insert"),
    )
    rank: str | None = option(
        None,
        "first_token: rank of the token that an answer begins with, among the vocabulary, as published; "
        "word: rank of the whole "
        "word among candidates. null: first_token, word for masked models.",
        ("first_token", "word"),
    )
    candidates: str = option(
        "answers", "rank=word: all answers of the data set, or a text file with a word a line."
    )
    max_rank: int | None = option(
        None, "Ranks beyond are none; 5 imitates the interface of GPT-3.5.", within=COUNT
    )
    compare: str = option(
        "casefold", "first_token: whether upper and lower case differ.", ("casefold", "exact")
    )
    leading_space: bool = option(True, "first_token: a token may begin with a space.")
    max_tokens: int = option(8, "first_token: longest word in tokens.", within=TOKENS)


@dataclass
class MunchFiguresConfig(EvaluateConfig):
    """MUNCH's Table 1 and Figures 3 and 8: genres, parts of speech and novelty of its sentences, similarity
    of its candidates."""

    vectors: str | None = option(
        None,
        "Static vectors for Figure 3: a GloVe text file (.txt, .vec, .gz), word2vec's .bin, with "
        "allow_pickle=true a file of "
        "gensim, or model, the input embeddings of model= or checkpoint=. null leaves it out.",
    )
    lower: bool = option(True, "Look up words in lower case, as GloVe has them.")
    allow_pickle: bool = option(
        False, "Also read vectors as gensim saves them: a pickle, which runs what its author wants."
    )


@dataclass
class MergeConfig(Command):
    """Merge adapters into a plain Hugging Face folder, once scores of the validation items of data= are found
    equal."""

    checkpoint: str = option("", "Run folder, exported or released folder or hub id with adapters.")
    output: str = option("", "Folder of the merged network.")
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    overwrite: bool = option(False, "Replace an earlier export; files of your own in its folder stay.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.checkpoint or not self.output:
            raise FiglangError(
                "give checkpoint=FOLDER, a run with adapters, and output=FOLDER for the merged network"
            )


RUNS = {
    "help": "Run folders, evaluation folders or predictions files; bare words are taken as such.",
    "choices": (),
}


@dataclass
class CompareConfig(Command):
    """Systems beside each other on the same items: paired differences, tests, agreement. Seeds of one recipe
    are pooled."""

    runs: list[str] = field(default_factory=list, metadata=RUNS)
    output: str | None = option(
        None, "Folder for the table as Markdown, CSV and LaTeX; null: only in the terminal."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.runs) < 2:
            raise FiglangError("give two runs or more: python -m figlang compare RUN RUN …")


@dataclass
class ReportConfig(Command):
    """One HTML page about runs, with the tables (Markdown, CSV, LaTeX) and figures (SVG, PDF) for a paper
    beside it."""

    runs: list[str] = field(default_factory=list, metadata=RUNS)
    output: str | None = option(
        None, "Folder of the report; null: the folder `report` of a single run, else runs/report."
    )
    title: str = option("", "Title of the page; empty: what was evaluated.")
    analysis: str = option(
        "auto",
        "Linguistic analyses of Fig-QA's metaphors; auto makes them if the extra figlang[analysis] is there.",
        ("auto", "on", "off"),
    )
    people: str | None = option(
        None,
        "CSV of people's answers to the items (id, choice: the number of an option); their errors stand "
        "beside the systems'.",
    )
    data: DataConfig | None = None
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.runs:
            raise FiglangError("give at least one run: python -m figlang report RUN …")


@dataclass
class DescribeConfig(Command):
    """What is in a data set: counts by attribute and, for Fig-QA, the most frequent subjects, relations and
    objects (Figure 1)."""

    data: DataConfig = field(default_factory=DataConfig)
    split: str = option("train", "Split to describe.", ("train", "validation", "test"))
    parsed: int | None = option(
        8_192,
        "Most items that are parsed for their subjects, relations and objects; null: all.",
        within=COUNT,
    )
    output: str | None = option(None, "Folder of tables and figures; null: a folder below paths.runs.")
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()


# The three benchmarks, and what models are transferred from. Their evaluation splits are the same for every
# training size.
BENCHMARKS = ("figqa_large", "miqa", "munch_paraphrase", "winogrande_l")
AGAINST = {
    "help": "Presets of data= whose evaluation splits are looked for in the training items.",
    "choices": (),
}


@dataclass
class ContaminationConfig(Command):
    """Which evaluation items hold text that the training items of data= hold too, by n-grams of words."""

    data: DataConfig = field(default_factory=DataConfig)
    against: list[str] = field(default_factory=lambda: [*BENCHMARKS], metadata=AGAINST)
    n: int = option(8, "Words in a row that count as overlap; shorter texts have to be equal.", within=COUNT)
    run: str | None = option(
        None, "Folder of a run on data=: the training data of the runs that it went on from count too."
    )
    runs: list[str] = field(
        default_factory=list,
        metadata={
            "help": (
                "Folders of evaluations or runs, whose accuracy on the clean items is set beside the whole."
            ),
            "choices": (),
        },
    )
    output: str | None = option(None, "Folder of the table and the ids; null: a folder below paths.runs.")
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.against:
            raise FiglangError(f"against= names no data set; give presets such as [{','.join(BENCHMARKS)}]")


@dataclass
class ReleaseConfig(Command):
    """Write a finished run as a checkpoint for others: rounded weights evaluated again, card, predictions,
    seeds, contamination."""

    run: str = option("", "Folder of the finished run that is released.")
    name: str = option("", "Name of the checkpoint.")
    output: str = option("checkpoints", "Folder that the checkpoint is put into.")
    seeds: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Runs of the same recipe, for mean and deviation; empty: the seed folders beside run.",
            "choices": (),
        },
    )
    against: list[str] = field(default_factory=lambda: [*BENCHMARKS], metadata=AGAINST)
    n: int = option(8, "Words in a row that count as overlap of training and evaluation text.", within=COUNT)
    dtype: str = option("float16", "Number format of the released weights.", ("float16", "float32"))
    note: str | None = option(
        None, "What else its card has to say, of what was chosen after a look at evaluation items, say."
    )
    beside: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Evaluation folders of the run (without run=, of the released checkpoint) and of its "
            "base as it comes: the "
            "card says what the training won and lost.",
            "choices": (),
        },
    )
    limit_mb: float = option(
        32.0, "Largest checkpoint in megabytes: repositories keep every version.", within=POSITIVE
    )
    overwrite: bool = option(
        False, "Replace an earlier checkpoint of this name; files of your own in its folder stay."
    )
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.run or self.beside) or not self.name:
            raise FiglangError(
                "give run=FOLDER, a finished run, and name=NAME for the checkpoint; or name= and "
                "beside=[FOLDER,…] for its card"
            )


@dataclass
class AverageConfig(Command):
    """The mean of the weights of runs that differ in their seed, and of what they began from, as a run of its
    own; of adapters, the mean of what they add."""

    runs: list[str] = field(default_factory=list, metadata=RUNS)
    output: str = option("", "Folder of the averaged run.")
    rank: int | None = option(
        None,
        "Adapters: rank of the mean; null keeps it exact, with the ranks of all runs together.",
        within=COUNT,
    )
    start: float = option(
        0.0,
        "Share of the checkpoint that the runs began from (WiSE-FT); the runs have the rest.",
        within=SHARE,
    )
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.runs) < (1 if self.start else 2) or not self.output:
            raise FiglangError(
                "give two runs or more and a folder: python -m figlang average RUN RUN … output=FOLDER; one "
                "run with start=SHARE"
            )
