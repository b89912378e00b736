"""Answers that were written elsewhere, by people or by models that are not run here, read from a CSV or JSONL
file to be rated."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic_core import from_json

from figlang.config.signature import digest
from figlang.errors import FiglangError, one_line
from figlang.files.rows import Problems, read_csv
from figlang.tasks import registry
from figlang.types import Generation

OPTIONAL = ("model", "item", "group", "kind")


def read(
    path: Path, scale: str | None, prompt: str = "prompt", answer: str = "answer"
) -> dict[str, list[Generation]]:
    """The answers in a file, by model.

    `prompt` and `answer` are the columns (keys) of the question and of the answer. The columns model, item,
    group and kind are optional. Without them, the file's name is the model, answers to the same question
    belong to one item, each item is its own group, and the kind is the first one of `scale`.

    Raises FiglangError with the number of a row that cannot be used.

    Args:
        path: The file.
        scale: Name of the scale; None: that of the first versions.
        prompt: Column of the question.
        answer: Column of the answer.
    """
    found: dict[str, list[Generation]] = {}
    rated_on = registry.scale(scale)
    kinds = list(rated_on.kinds)
    samples: Counter[tuple[str, str, str]] = Counter()
    for number, row in _rows(path, (prompt, answer)):
        empty = next((name for name in (prompt, answer) if not row[name].strip()), None)
        if empty is not None:
            raise FiglangError(f"{path}: row {number} has no {empty}; fill it in or delete the row")
        given = {name: row.get(name, "").strip() for name in OPTIONAL}
        kind, model = given["kind"] or kinds[0], given["model"] or path.stem
        if kind not in kinds:
            raise FiglangError(
                f"{path}: row {number} has the kind {kind!r}, which is not of scale={rated_on.name}; leave "
                "the column out"
            )
        item = given["item"] or f"q-{digest(row[prompt])[:8]}"
        place = samples[model, item, kind]
        samples[model, item, kind] += 1
        text = row[answer].strip()
        found.setdefault(model, []).append(
            Generation(item, given["group"] or item, kind, place, row[prompt].strip(), text, text)
        )
    if not found:
        raise FiglangError(
            f"{path} has no answer; give a row for each, with the columns {prompt} and {answer}"
        )
    return found


def _rows(path: Path, required: tuple[str, str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    if path.suffix != ".jsonl":
        problems = Problems(path, strict=False)
        yield from read_csv(path, required, problems)
        # A row with a cell too many or too few would be left out of the sheet without a word.
        if odd := next((one for one in problems.found if " row " in one), None):
            raise FiglangError(f"{odd} ({path})")
        return
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); give a UTF-8 file") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = from_json(line)
            missing = next((name for name in required if not isinstance(row[name], str)), None)
        except (ValueError, KeyError, TypeError) as error:
            raise FiglangError(
                f"{path}: row {number} is not an object with {' and '.join(required)} ({one_line(error)}); "
                "correct the line"
            ) from error
        if missing is not None:
            raise FiglangError(
                f"{path}: row {number} has a {missing} that is not a text; put it in quotation marks"
            )
        yield number, {name: str(value) for name, value in row.items() if value is not None}
