"""Schemas of the files of finished evaluations and trainings: what is in a row or document, and of what type.

`figlang.files.stored` reads the files by them.
"""

from typing import Annotated, Any, Literal, NotRequired, Required

from pydantic import AfterValidator, ConfigDict, Field, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

STRICT = ConfigDict(strict=True, extra="ignore")
OPEN = ConfigDict(strict=True, extra="allow")
Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Gain = Annotated[float, Field(ge=-1, le=1)]
# A sum of log-probabilities (in nats), its number of tokens and its number of bytes.
Sum = tuple[Finite, Annotated[int, Field(ge=1)], Count]
Attributes = dict[str, tuple[str, ...]]
# Step, epoch, split, metric and value.
LogRow = tuple[Count, Count, Name, Name, Finite]


@with_config(STRICT)
class PredictionRow(TypedDict):
    """A line of predictions*.jsonl and judgements.jsonl."""

    id: Name
    group: str
    gold: Count | None
    scores: Annotated[tuple[Finite, ...], Field(min_length=1)]
    attributes: Attributes
    paired: NotRequired[bool]
    choice: NotRequired[Count | None]


@with_config(STRICT)
class MeasuredRow(TypedDict, total=False):
    """A line of log_probabilities.jsonl: sums of strings, of answers after a prompt, or of letters."""

    id: Required[Name]
    whole: list[Sum]
    answer: list[Sum]
    answer_alone: list[Sum]
    metaphor_alone: Sum | None
    after: list[Sum]
    alone: list[Sum] | None
    letters: list[dict[str, Finite]]
    refused: bool
    refused_blind: bool


@with_config(STRICT)
class ReplyRow(TypedDict):
    """A line of replies.jsonl."""

    id: Name
    message: str
    reply: str
    letter: Annotated[str, Field(pattern="^[A-Z]$")] | None
    cut: bool
    refused: NotRequired[bool]
    reason: NotRequired[str]
    ratings: NotRequired[list[Finite | None]]


@with_config(STRICT)
class AnswerRow(TypedDict):
    """A line of answers.jsonl."""

    item: Name
    group: str
    kind: str
    sample: Count
    prompt: str
    text: str
    answer: str


@with_config(STRICT)
class VerdictRow(TypedDict):
    """A line of a judge's ratings.jsonl."""

    id: Name
    word: str | None
    values: dict[str, Finite]
    asked: list[dict[str, Any]]


@with_config(OPEN)
class JudgeAbout(TypedDict):
    """metrics.json of a judge: its settings, and the hashes of its files."""

    judge: str
    files: NotRequired[dict[str, str]]


@with_config(STRICT)
class RankingRow(TypedDict):
    """A line of rankings/*.jsonl."""

    id: Name
    group: str
    answers: Annotated[tuple[str, ...], Field(min_length=1)]
    ranks: tuple[Annotated[int, Field(ge=1)] | None, ...]
    written: str
    top: tuple[str, ...]
    attributes: Attributes


@with_config(OPEN)
class EstimateCell(TypedDict):
    """A share with its interval."""

    value: Share
    low: Share
    high: Share
    n: Annotated[int, Field(ge=1)]
    chance: NotRequired[Share | None]
    p: NotRequired[Share | None]
    clusters: NotRequired[Count | None]


@with_config(OPEN)
class Metrics(TypedDict, total=False):
    """The metrics of one predictions file."""

    accuracy: EstimateCell
    pair_accuracy: EstimateCell
    consistency: EstimateCell
    same_answer: EstimateCell
    first_option: EstimateCell
    items: Required[Count]
    hidden: Required[Count]
    ties: Required[Count]
    accuracy_by: Required[dict[str, dict[str, EstimateCell]]]


@with_config(OPEN)
class ThreeWay(TypedDict, total=False):
    accuracy: EstimateCell


@with_config(OPEN)
class Replies(TypedDict):
    n: Count
    invalid: EstimateCell
    cut: Count


@with_config(OPEN)
class GainCell(TypedDict):
    """A difference of two shares with its interval."""

    value: Gain
    low: Gain
    high: Gain
    p: Share
    n: Annotated[int, Field(ge=1)]
    won: NotRequired[Count | None]
    lost: NotRequired[Count | None]
    clusters: NotRequired[Count | None]


@with_config(OPEN)
class UnknownTokens(TypedDict):
    """Tokens that the tokenizer does not know, and some words with them."""

    tokens: Count
    unknown: Count
    items: Count
    scripts: list[str]
    words: NotRequired[list[str]]


@with_config(OPEN)
class Clean(TypedDict):
    """Items that share text with training items, and the accuracy without them."""

    stages: Count
    training_items: Count
    touched: dict[str, str]
    accuracy: EstimateCell | None
    others: EstimateCell | None


@with_config(OPEN)
class Overlap(TypedDict):
    """An evaluation split beside training items: ids of evaluated items with those of training items."""

    data: str
    split: str
    sha256: str
    items: Count
    context: dict[str, str]
    option: dict[str, str]
    near: NotRequired[dict[str, str]]


@with_config(OPEN)
class Overlaps(TypedDict):
    """The result of a search for evaluation text in training items."""

    n: Count
    shortest: Count
    dropped: list[str]
    evaluated: list[Overlap]
    alike: NotRequired[Share]
    stages: NotRequired[Count]
    training_items: NotRequired[Count]
    teacher_items: NotRequired[Count]
    teachers_unknown: NotRequired[list[str]]
    anchor_data: NotRequired[str]


@with_config(STRICT)
class Finding(TypedDict):
    code: str
    epoch: Count
    message: str


@with_config(OPEN)
class DescribedSplit(TypedDict):
    sha256: str
    items: Count


@with_config(OPEN)
class DataSettings(TypedDict, total=False):
    """The settings of data by which a task is found; the others are checked where items are loaded."""

    dataset: str
    mix: dict[str, Finite]


@with_config(OPEN)
class DescribedData(TypedDict, total=False):
    """Which items there were, and the settings by which they are found again."""

    train: DescribedSplit
    validation: DescribedSplit
    test: DescribedSplit
    settings: DataSettings
    notes: list[str]


@with_config(OPEN)
class Likelihood(TypedDict):
    """Mean log-probability per token of right and wrong answers."""

    gold: Finite
    wrong: Finite
    items: Count


@with_config(OPEN)
class LogProbs(TypedDict, total=False):
    """How likely a causal model found answers before and after its training. Empty for an encoder."""

    before: Likelihood
    after: Likelihood


@with_config(OPEN)
class Training(TypedDict, total=False):
    """How a training went, as cards tell it."""

    items: Count
    epochs: Count
    steps: Count
    precision: str
    selection: Literal["none", "heldout", "validation"]
    selected: dict[Literal["loss", "accuracy", "groups"], Amount]
    exported_epoch: Count
    log_probs: LogProbs
    seconds: Amount
    tokens_per_second: Amount | None
    peak_memory_mb: Amount | None
    peak_share: Amount | None


def _of_a_seed(facts: dict[str, Any]) -> dict[str, Any]:
    if type(seed := facts.get("train_seed")) not in (int, type(None)):
        raise PydanticCustomError(
            "seed", "train_seed should be a whole number, it is {seed}", {"seed": short(seed)}
        )
    return facts


# What can change a score, by name.
Facts = Annotated[dict[str, str | int | Finite | bool | None], AfterValidator(_of_a_seed)]


@with_config(OPEN)
class Member(TypedDict):
    """One of several systems whose scores were combined."""

    model: str
    folder: str
    signature: str
    sha256: str
    weight: Amount


@with_config(OPEN)
class Teacher(TypedDict):
    """One of the systems whose scores a model learnt."""

    model: str
    data_name: str
    split: str
    signature: str
    facts: Facts
    items: Count
    sha256: str


@with_config(OPEN)
class Usage(TypedDict):
    """Tokens and cost of an endpoint's answers."""

    requests: Count
    counted: Count
    tokens_in: Count
    tokens_out: Count
    cost: NotRequired[Finite]
    cost_by: NotRequired[str]
    currency: NotRequired[str]


@with_config(OPEN)
class Document(TypedDict, total=False):
    """metrics.json of an evaluation or a training."""

    signature: Required[str]
    model: Required[Name]
    data_name: Required[Name]
    split: Required[str]
    task: str
    published_file: Required[bool]
    seed: Required[Count]
    metrics: Required[Metrics]
    backward: Metrics
    blind: Metrics
    gain: GainCell
    clean: Clean
    contamination: Overlaps
    unknown_tokens: UnknownTokens
    tokens_by_language: dict[str, dict[str, Count]]
    three_way: ThreeWay
    replies: Replies
    usage: Usage
    facts: Facts
    files: dict[str, str]
    command: str
    commands: list[str]
    commands_before: list[list[str]]
    versions: dict[str, str]
    data: DescribedData
    training: Training
    health: list[Finding]
    averaged: list[str]
    members: list[Member]
    teachers: list[Teacher]
    start_share: Share
    shares: list[Share]


@with_config(OPEN)
class RunSettings(TypedDict, total=False):
    data: dict[str, Any]
    model: dict[str, Any]
    seed: Count


@with_config(OPEN)
class RunData(TypedDict):
    train: str
    validation: str
    items: NotRequired[dict[str, Any]]


@with_config(OPEN)
class RunRecipe(TypedDict):
    """recipe.json of a run."""

    settings: RunSettings
    data: RunData


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
