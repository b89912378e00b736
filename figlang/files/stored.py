"""Read the files of finished evaluations strictly: an error names the file, the line or key, and the fault.

A schema checks every row and document before anything is counted. It refuses NaN and infinity, wrong types,
missing keys, empty lines and files that were cut off. Files are read line by line, so that only one row is in
memory at a time.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import PydanticCustomError, from_json
from typing_extensions import TypedDict

from figlang.errors import FiglangError, one_line

STRICT = ConfigDict(strict=True, extra="ignore")
Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Gain = Annotated[float, Field(ge=-1, le=1)]
# A sum of log-probabilities (in nats), its number of tokens and its number of bytes.
Sum = tuple[Finite, Annotated[int, Field(ge=1)], Count]
Attributes = dict[str, tuple[str, ...]]


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


@with_config(STRICT)
class ReplyRow(TypedDict):
    """A line of replies.jsonl."""

    id: Name
    message: str
    reply: str
    letter: Annotated[str, Field(pattern="^[A-Z]$")] | None
    cut: bool
    refused: NotRequired[bool]


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
class RankingRow(TypedDict):
    """A line of rankings/*.jsonl."""

    id: Name
    group: str
    answers: Annotated[tuple[str, ...], Field(min_length=1)]
    ranks: tuple[Annotated[int, Field(ge=1)] | None, ...]
    written: str
    top: tuple[str, ...]
    attributes: Attributes


@with_config(ConfigDict(strict=True, extra="allow"))
class EstimateCell(TypedDict):
    """A share with its interval."""

    value: Share
    low: Share
    high: Share
    n: Annotated[int, Field(ge=1)]
    chance: NotRequired[Share | None]
    p: NotRequired[Share | None]


@with_config(ConfigDict(strict=True, extra="allow"))
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


@with_config(ConfigDict(strict=True, extra="allow"))
class ThreeWay(TypedDict, total=False):
    accuracy: EstimateCell


@with_config(ConfigDict(strict=True, extra="allow"))
class Replies(TypedDict):
    n: Count
    invalid: EstimateCell
    cut: Count


@with_config(ConfigDict(strict=True, extra="allow"))
class GainCell(TypedDict):
    """A difference of two shares with its interval."""

    value: Gain
    low: Gain
    high: Gain
    p: Share
    n: Annotated[int, Field(ge=1)]


@with_config(ConfigDict(strict=True, extra="allow"))
class Clean(TypedDict):
    """Items that share text with training items, and the accuracy without them."""

    stages: Count
    training_items: Count
    touched: dict[str, str]
    accuracy: EstimateCell | None
    others: EstimateCell | None


@with_config(STRICT)
class Finding(TypedDict):
    code: str
    epoch: Count
    message: str


@with_config(ConfigDict(strict=True, extra="allow"))
class DescribedSplit(TypedDict):
    sha256: str
    items: Count


@with_config(ConfigDict(strict=True, extra="allow"))
class DescribedData(TypedDict, total=False):
    """Which items there were, and the settings by which they are found again."""

    train: DescribedSplit
    validation: DescribedSplit
    test: DescribedSplit
    settings: dict[str, Any]
    notes: list[str]


@with_config(ConfigDict(strict=True, extra="allow"))
class Training(TypedDict, total=False):
    """How a training went, as cards tell it."""

    items: Count
    epochs: Count
    steps: Count
    precision: str
    selection: Literal["none", "heldout", "validation"]
    exported_epoch: Count
    seconds: Amount
    tokens_per_second: Amount | None
    peak_memory_mb: Amount | None
    peak_share: Amount | None


def _of_a_seed(facts: dict[str, Any]) -> dict[str, Any]:
    if type(seed := facts.get("train_seed")) not in (int, type(None)):
        raise PydanticCustomError(
            "seed", "train_seed should be a whole number, it is {seed}", {"seed": _short(seed)}
        )
    return facts


# What can change a score, by name.
Facts = Annotated[dict[str, str | int | Finite | bool | None], AfterValidator(_of_a_seed)]


@with_config(ConfigDict(strict=True, extra="allow"))
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
    three_way: ThreeWay
    replies: Replies
    facts: Facts
    files: dict[str, str]
    command: str
    commands: list[str]
    versions: dict[str, str]
    data: DescribedData
    training: Training
    health: list[Finding]
    averaged: list[str]
    start_share: Share


@with_config(ConfigDict(strict=True, extra="allow"))
class RunSettings(TypedDict, total=False):
    data: dict[str, Any]
    model: dict[str, Any]
    seed: Count


@with_config(ConfigDict(strict=True, extra="allow"))
class RunData(TypedDict):
    train: str
    validation: str
    items: NotRequired[dict[str, Any]]


@with_config(ConfigDict(strict=True, extra="allow"))
class RunRecipe(TypedDict):
    """recipe.json of a run."""

    settings: RunSettings
    data: RunData


PREDICTION = TypeAdapter(PredictionRow)
MEASURED = TypeAdapter(MeasuredRow)
REPLY = TypeAdapter(ReplyRow)
ANSWER = TypeAdapter(AnswerRow)
RANKING = TypeAdapter(RankingRow)
DOCUMENT = TypeAdapter(Document)
RECIPE = TypeAdapter(RunRecipe)
OBJECT = TypeAdapter(dict[str, Any])
# What cards and means need to know of a training.
TRAINED = (
    *("data.train", "data.validation", "data.settings", "health", "command", "facts"),
    *(
        f"training.{name}"
        for name in ("items", "epochs", "steps", "precision", "selection", "exported_epoch", "seconds")
    ),
)


def rows(path: Path, schema: TypeAdapter[Any], noun: str, remedy: str) -> Iterator[tuple[int, Any]]:
    """Read the lines of a JSONL file that fit a schema.

    Args:
        path: The file.
        schema: Schema of a line.
        noun: What a line is, for error messages, for example "a prediction".
        remedy: What to do about a damaged file, for error messages.

    Yields:
        The number of each line, from 1, and its content as plain data.

    Raises:
        FiglangError: If a line does not fit. It names the file, the line and the fault.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield number, schema.validate_json(line)
                except ValidationError as error:
                    raise FiglangError(
                        f"{path}: line {number} is not {noun} ({what(error)}); {remedy}"
                    ) from error
    except OSError as error:
        raise FiglangError(f"{path} cannot be read ({error.strerror}); {remedy}") from error


def document(path: Path, schema: TypeAdapter[Any], remedy: str) -> dict[str, Any]:
    """Read a JSON file that fits a schema, as plain data.

    Args:
        path: The file.
        schema: Schema of its content.
        remedy: What to do about a damaged file, for error messages.

    Raises:
        FiglangError: If the content does not fit. It names the file, the key and the fault.
    """
    content = plain(path, remedy)
    try:
        schema.validate_python(content)
    except ValidationError as error:
        raise FiglangError(f"{path} is damaged ({what(error)}); {remedy}") from error
    return content


def check_training(path: Path, content: dict[str, Any], remedy: str) -> None:
    """Check that the metrics.json of a training has all entries that cards and means need.

    Raises:
        FiglangError: If one is missing.
    """
    for name in TRAINED:
        entry: Any = content
        for part in name.split("."):
            if part not in entry:
                raise FiglangError(f"{path} is damaged (a training has {name}, which is missing); {remedy}")
            entry = entry[part]


def text(path: Path, remedy: str) -> str:
    """Read a text file.

    Raises:
        FiglangError: If it cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); {remedy}") from error


def plain(path: Path, remedy: str) -> dict[str, Any]:
    """Read a JSON file that holds an object, without NaN or infinity.

    Raises:
        FiglangError: If the file is missing or is something else. `remedy` ends the message.
    """
    try:
        content = from_json(path.read_bytes(), allow_inf_nan=False)
    except (OSError, ValueError) as error:
        raise FiglangError(f"{path} is damaged ({one_line(error)}); {remedy}") from error
    if not isinstance(content, dict):
        raise FiglangError(f"{path} is damaged (it does not hold an object in braces); {remedy}")
    return content


def what(error: ValidationError) -> str:
    """Describe the first fault that a schema found: where it is, what it is, and the value."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    said = first["msg"][:1].lower() + first["msg"][1:]
    value = "" if first["type"] in ("missing", "json_invalid") else f", it is {_short(first['input'])}"
    return f"{where}: {said}{value}" if where else f"{said}{value}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


LOG = ("step", "epoch", "split", "metric", "value")


def log_rows(path: Path) -> list[tuple[int, int, str, str, float]]:
    """Read the rows of a run's log.csv: step, epoch, split, metric, value.

    Raises:
        FiglangError: If a line is not such a row. It names the line.
    """
    schema = TypeAdapter(tuple[Count, Count, Name, Name, Finite])
    remedy = "restore the file, or train again with overwrite=true"
    checked = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            if (heading := next(reader, None)) is None or tuple(heading) != LOG:
                raise FiglangError(f"{path}: line 1 does not name the columns {', '.join(LOG)}; {remedy}")
            for row in reader:
                checked.append(schema.validate_python(tuple(row)))
    except ValidationError as error:
        raise FiglangError(
            f"{path}: line {reader.line_num} is not a row of a log ({what(error)}); {remedy}"
        ) from error
    except (OSError, ValueError, csv.Error) as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); {remedy}") from error
    return checked
