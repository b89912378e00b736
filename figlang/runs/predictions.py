"""Predictions to and from a file. Needs no torch: whatever only counts starts at once."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from figlang.files import stored
from figlang.errors import FiglangError, NonFiniteError
from figlang.files.whole import write_lines
from figlang.types import Prediction

# What an evaluation's folder holds: choices, choices of the metaphor for a given answer, choices with the
# context hidden, what an NLI network said of each answer.
FORWARD, BACKWARD, BLIND = "predictions.jsonl", "predictions_backward.jsonl", "predictions_blind.jsonl"
JUDGEMENTS = "judgements.jsonl"
# And what choices were made of: log-probabilities of strings, replies of a chat model.
MEASURED, REPLIES = "log_probabilities.jsonl", "replies.jsonl"


def check_finite(predictions: Iterable[Prediction]) -> None:
    """Raises NonFiniteError for the first prediction with a score that is not a finite number.

    Such a score says nothing of its option: a network whose weights are not numbers would seem to be always
    wrong.
    """
    for row in predictions:
        for place, score in enumerate(row.scores):
            if not isfinite(score):
                several = "no option has a finite score" if not any(map(isfinite, row.scores)) else "its scores are not all finite"
                raise NonFiniteError(f"item {row.id}: the score of option {place + 1} is {score}, and {several}")


def records(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lines of what predictions are made of, one JSON object each, in the order of `rows`.

    Raises NonFiniteError that names the item of a record with a number that is not finite.
    """
    lines = []
    for row in rows:
        try:
            lines.append(json.dumps(row, allow_nan=False) + "\n")
        except ValueError as error:
            raise NonFiniteError(f"item {row['id']}: a log-probability of its strings is not a finite number") from error
    return lines


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """One JSON object a line, written beside and renamed, so that a half-written file never has the name.

    Raises NonFiniteError before anything is written, see `check_finite`.
    """
    predictions = list(predictions)
    check_finite(predictions)
    write_lines(path, map(_line, predictions))


def _line(row: Prediction) -> str:
    content = {**asdict(row), "choice": row.choice}
    if row.paired:  # so in files that say nothing of it
        del content["paired"]
    return json.dumps(content, ensure_ascii=False) + "\n"


REMEDY = "restore the file or evaluate again"


def read_predictions(path: Path) -> list[Prediction]:
    """Predictions of a file, each id once.

    Raises FiglangError that names the line and what is wrong: a row that is not a prediction, an id that came
    before, a gold option or a choice that the scores do not have, or another number of scores than the rest
    of its group has.
    """
    if not path.is_file():
        raise FiglangError(f"no predictions file {path}; evaluate.py writes one")
    found: dict[str, Prediction] = {}
    widths: dict[str, int] = {}
    for number, row in stored.rows(path, stored.PREDICTION, "a prediction", REMEDY):
        one = Prediction(row["id"], row["group"], row["gold"], row["scores"], row["attributes"], row.get("paired", True))
        if fault := _fault(one, row, widths):
            raise FiglangError(f"{path}: line {number} is not a prediction ({fault}); {REMEDY}")
        if one.id in found:
            raise FiglangError(f"{path}: line {number} has the id {one.id} of an earlier line; {REMEDY}")
        found[one.id] = one
    return list(found.values())


def _fault(one: Prediction, row: Mapping[str, Any], widths: dict[str, int]) -> str | None:
    width = len(one.scores)
    if one.gold is not None and one.gold >= width:
        return f"gold is option {one.gold}, and it has {width} scores"
    if "choice" in row and row["choice"] != one.choice:
        return f"its choice is {row['choice']}, and its scores say {one.choice}"
    if one.paired and widths.setdefault(one.group, width) != width:
        return f"{width} scores, and others of its group {one.group} have {widths[one.group]}"
    return None


def read_replies(path: Path, known: Collection[str]) -> list[dict[str, Any]]:
    """Rows of replies.jsonl, each of a `known` prediction.

    Raises FiglangError that names the line which is not a reply, or is one to another question, and where
    replies are missing.
    """
    return _each_once(path, stored.rows(path, stored.REPLY, "a reply", REMEDY), known)


def read_measured(path: Path, widths: Mapping[str, int]) -> list[dict[str, Any]]:
    """Rows of log_probabilities.jsonl; `widths` has the number of options of every prediction, by its id.

    Raises FiglangError that names the line which is not one, or does not fit its prediction.
    """
    found = _each_once(path, stored.rows(path, stored.MEASURED, "a row of log-probabilities", REMEDY), widths)
    for number, row in enumerate(found, start=1):
        for name in ("whole", "answer", "answer_alone", "after", "alone", "letters"):
            width = widths[row["id"]]
            if (each := row.get(name)) is not None and len(each) != width:
                wrong = f"{len(each)} values of {name}, and its prediction has {width} options"
                raise FiglangError(f"{path}: line {number} has {wrong}; {REMEDY}")
    return found


def count_refused(folder: Path) -> int:
    """How many items of log_probabilities.jsonl a content filter refused to read; 0 without such a file."""
    path = folder / MEASURED
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        return sum(b'"refused": true' in line for line in file)


def _each_once(path: Path, rows: Iterable[tuple[int, Any]], known: Collection[str]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for number, row in rows:
        if row["id"] in found:
            raise FiglangError(f"{path}: line {number} has the id {row['id']} of an earlier line; {REMEDY}")
        if row["id"] not in known:
            raise FiglangError(f"{path}: line {number} is of {row['id']}, which has no prediction; {REMEDY}")
        found[row["id"]] = row
    if missing := next((name for name in known if name not in found), None):
        raise FiglangError(f"{path} has no row for {missing}, which has a prediction; {REMEDY}")
    return list(found.values())
