"""Read the files of finished evaluations strictly: an error names the file, the line or key, and the fault.

A schema checks every row and document before anything is counted. It refuses NaN and infinity, wrong types,
missing keys, empty lines and files that were cut off. Files are read line by line, so that only one row is in
memory at a time.
"""

import csv
from collections.abc import Iterator, Mapping
from errno import EINVAL
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from figlang.errors import FiglangError, one_line
from figlang.files import schemas

# The safe loader that is not written in Python reads seven times as fast. PyYAML may be built without it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEPEST = 100  # levels of a file of settings; at some thousands that loader ends the whole process
PREDICTION = TypeAdapter(schemas.PredictionRow)
MEASURED = TypeAdapter(schemas.MeasuredRow)
REPLY = TypeAdapter(schemas.ReplyRow)
ANSWER = TypeAdapter(schemas.AnswerRow)
VERDICT = TypeAdapter(schemas.VerdictRow)
JUDGE = TypeAdapter(schemas.JudgeAbout)
RANKING = TypeAdapter(schemas.RankingRow)
DOCUMENT = TypeAdapter(schemas.Document)
RECIPE = TypeAdapter(schemas.RunRecipe)
OBJECT = TypeAdapter(dict[str, Any])
# The columns of log.csv.
LOG = ("step", "epoch", "split", "metric", "value")
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
        _check_regular(path)
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


def check_training(path: Path, content: Mapping[str, Any]) -> None:
    """Check that the metrics.json of a training has all entries that cards and means need.

    Raises:
        FiglangError: If one is missing.
    """
    for name in TRAINED:
        entry: Any = content
        for part in name.split("."):
            if part not in entry:
                raise FiglangError(
                    f"{path} is damaged (a training has {name}, which is missing); train the run again, or "
                    "put the file back"
                )
            entry = entry[part]


def text(path: Path, remedy: str) -> str:
    """Read a text file.

    Raises:
        FiglangError: If it cannot be read as UTF-8.
    """
    try:
        _check_regular(path)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); {remedy}") from error


def settings(path: Path, remedy: str) -> dict[str, Any]:
    """Read a YAML file of settings; empty if it holds something else than names and values.

    Raises:
        FiglangError: If it cannot be read. `remedy` ends the message.
    """
    written = text(path, remedy)
    try:
        _check_depth(written)
        content = yaml.load(written, _Loader)
    except yaml.YAMLError as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); {remedy}") from error
    return content if isinstance(content, dict) else {}


def _check_depth(written: str) -> None:
    depth = 0
    for event in yaml.parse(written, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.YAMLError(f"it has more than {DEEPEST} levels")


def plain(path: Path, remedy: str) -> dict[str, Any]:
    """Read a JSON file that holds an object, without NaN or infinity.

    Raises:
        FiglangError: If the file is missing or is something else. `remedy` ends the message.
    """
    try:
        _check_regular(path)
        content = from_json(path.read_bytes(), allow_inf_nan=False)
    except FileNotFoundError as error:
        raise FiglangError(f"there is no file {path}; {remedy}") from error
    except (OSError, ValueError) as error:
        raise FiglangError(f"{path} is damaged ({one_line(error)}); {remedy}") from error
    if not isinstance(content, dict):
        raise FiglangError(f"{path} is damaged (it does not hold an object in braces); {remedy}")
    return content


def _check_regular(path: Path) -> None:
    """Check that a path is not a pipe or a device, whose reading might never end.

    Raises:
        OSError: It is.
    """
    if not S_ISREG(mode := path.stat().st_mode) and not S_ISDIR(mode):  # the system refuses to read a folder
        raise OSError(EINVAL, "it is a pipe or a device, not a file", str(path))


def what(error: ValidationError) -> str:
    """Describe the first fault that a schema found: where it is, what it is, and the value."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    said = first["msg"][:1].lower() + first["msg"][1:]
    value = "" if first["type"] in ("missing", "json_invalid") else f", it is {schemas.short(first['input'])}"
    return f"{where}: {said}{value}" if where else f"{said}{value}"


def log_rows(path: Path) -> list[tuple[int, int, str, str, float]]:
    """Read the rows of a run's log.csv: step, epoch, split, metric, value.

    Raises:
        FiglangError: If a line is not such a row. It names the line.
    """
    schema = TypeAdapter(schemas.LogRow)
    remedy = "restore the file, or train again with overwrite=true"
    checked = []
    try:
        _check_regular(path)
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
