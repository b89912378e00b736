"""Predictions to and from a file. This module needs no torch, so commands that only count start at once."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError, NonFiniteError
from figlang.files import stored
from figlang.files.whole import write_lines
from figlang.runs import unfinished
from figlang.text.amounts import counted
from figlang.types import Prediction

# Files of an evaluation: choices; choices of the metaphor for a given answer; choices with the context
# hidden; the class that an NLI network gives to each answer.
FORWARD, BACKWARD, BLIND = "predictions.jsonl", "predictions_backward.jsonl", "predictions_blind.jsonl"
JUDGEMENTS = "judgements.jsonl"
# Files from which choices were made: log-probabilities of strings; replies of a chat model, as its questions
# are and with the context hidden.
MEASURED, REPLIES, BLIND_REPLIES = "log_probabilities.jsonl", "replies.jsonl", "replies_blind.jsonl"
WRITTEN = (FORWARD, BACKWARD, BLIND, JUDGEMENTS, MEASURED, REPLIES, BLIND_REPLIES)


def check_finite(predictions: Iterable[Prediction]) -> None:
    """Check that every score is a finite number.

    Other scores say nothing about their options. A network whose weights are not numbers would seem to be
    always wrong.

    Raises:
        NonFiniteError: For the first prediction with such a score.
    """
    for row in predictions:
        for place, score in enumerate(row.scores):
            if not isfinite(score):
                scope = (
                    "no option has a finite score"
                    if not any(map(isfinite, row.scores))
                    else "its scores are not all finite"
                )
                raise NonFiniteError(
                    f"item {row.id}: the score of option {place + 1} is {score}, and {scope}"
                )


def records(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Write rows from which predictions are made as JSON lines, in their order.

    Raises:
        NonFiniteError: If a row holds a number that is not finite. It names the item.
    """
    for row in rows:
        try:
            line = json.dumps(dict(row.items()), allow_nan=False)
        except ValueError as error:
            raise NonFiniteError(
                f"item {row['id']}: a log-probability of its strings is not a finite number"
            ) from error
        yield line + "\n"


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """Write one JSON object for each line; the file gets its name only when it is whole.

    Raises:
        NonFiniteError: As `check_finite` does, before anything is written.
    """
    predictions = list(predictions)
    check_finite(predictions)
    write_lines(path, map(_line, predictions))


def _line(row: Prediction) -> str:
    content = {**asdict(row), "choice": row.choice}
    if row.paired:  # a file without the key means a pair
        del content["paired"]
    return json.dumps(content, ensure_ascii=False) + "\n"


REMEDY = "restore the file or evaluate again"
WRITES = "figlang evaluate writes one"


def read_predictions(path: Path) -> list[Prediction]:
    """Read the predictions of a file.

    Raises:
        FiglangError: If the file is missing, or if a line is wrong. It names the line and the fault: a row
            that is not a prediction, a repeated id, a gold option or choice that does not fit the scores, or
            a number of scores that differs from the others of its group.
    """
    if not path.is_file():
        raise FiglangError(f"no predictions file {path}; {_remedy(path)}")
    predictions: dict[str, Prediction] = {}
    widths: dict[str, int] = {}
    for number, row in stored.rows(path, stored.PREDICTION, "a prediction", REMEDY):
        prediction = Prediction(
            row["id"], row["group"], row["gold"], row["scores"], row["attributes"], row.get("paired", True)
        )
        if fault := _fault(prediction, row, widths):
            raise FiglangError(f"{path}: line {number} is not a prediction ({fault}); {REMEDY}")
        if prediction.id in predictions:
            raise FiglangError(
                f"{path}: line {number} has the id {prediction.id} of an earlier line; {REMEDY}"
            )
        predictions[prediction.id] = prediction
    return list(predictions.values())


def _remedy(path: Path) -> str:
    """What to do about a missing file. If its folder holds results in folders, for example of seeds, these
    are named. Otherwise the results with the most similar name are, since a folder's name can end in letters
    that nobody types."""
    beside = path.parent
    if not beside.is_dir():
        return WRITES
    if path.name == FORWARD and (resumes := unfinished.resumed(beside)) is not None:
        return f"{beside} is an unfinished run; {resumes}"
    names = sorted(each.name for each in beside.iterdir() if (each / FORWARD).is_file())
    if path.name == FORWARD and names:
        some = " ".join([*(str(beside / name) for name in names[:2]), *(["…"] if names[2:] else [])])
        return f"the folder holds {counted(len(names), 'result')}; name each of them: {some}"
    if samples := sorted(beside.glob("samples_*.jsonl")):
        return f"lm-evaluation-harness wrote this folder; name the samples of the task: {samples[-1]}"
    close = sorted(name for name in names if name.startswith(path.name)) or get_close_matches(
        path.name, names, 1
    )
    meant = f"did you mean {' or '.join(str(beside / name) for name in close[:2])}? " if close else ""
    return meant + WRITES


def _fault(prediction: Prediction, row: Mapping[str, Any], widths: dict[str, int]) -> str | None:
    width = len(prediction.scores)
    if prediction.gold is not None and prediction.gold >= width:
        return f"gold is option {prediction.gold}, but it has {width} scores"
    if "choice" in row and row["choice"] != prediction.choice:
        return f"its choice is {row['choice']}, but its scores say {prediction.choice}"
    if prediction.paired and widths.setdefault(prediction.group, width) != width:
        return f"{width} scores, but others of its group {prediction.group} have {widths[prediction.group]}"
    return None


def read_replies(path: Path, known: Collection[str]) -> list[dict[str, Any]]:
    """Read the rows of replies.jsonl or replies_blind.jsonl, one for each `known` prediction.

    Raises:
        FiglangError: If a line is not a reply, or belongs to no prediction, or if a reply is missing. It
            names the line or the prediction.
    """
    return _each_once(path, stored.rows(path, stored.REPLY, "a reply", REMEDY), known)


def read_measured(path: Path, widths: Mapping[str, int]) -> list[dict[str, Any]]:
    """Read the rows of log_probabilities.jsonl.

    Args:
        path: The file.
        widths: Number of options of every prediction, by its id.

    Raises:
        FiglangError: If a line is not such a row or does not fit its prediction. It names the line.
    """
    rows = _each_once(path, stored.rows(path, stored.MEASURED, "a row of log-probabilities", REMEDY), widths)
    for number, row in enumerate(rows, start=1):
        for name in ("whole", "answer", "answer_alone", "after", "alone", "letters"):
            width = widths[row["id"]]
            if (values := row.get(name)) is not None and len(values) != width:
                wrong = f"{len(values)} values of {name}, but its prediction has {width} options"
                raise FiglangError(f"{path}: line {number} has {wrong}; {REMEDY}")
    return rows


def count_refused(folder: Path) -> tuple[int, int]:
    """How many items of log_probabilities.jsonl a content filter refused to read, as they are and with the
    context hidden; 0 without such a file."""
    path = folder / MEASURED
    seen = blind = 0
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                seen += b'"refused": true' in line
                blind += b'"refused_blind": true' in line
    return seen, blind


def _each_once(path: Path, rows: Iterable[tuple[int, Any]], known: Collection[str]) -> list[dict[str, Any]]:
    by_id: dict[str, dict[str, Any]] = {}
    for number, row in rows:
        if row["id"] in by_id:
            raise FiglangError(f"{path}: line {number} has the id {row['id']} of an earlier line; {REMEDY}")
        if row["id"] not in known:
            raise FiglangError(
                f"{path}: line {number} is about {row['id']}, which has no prediction; {REMEDY}"
            )
        by_id[row["id"]] = row
    if missing := next((name for name in known if name not in by_id), None):
        raise FiglangError(f"{path} has no row for {missing}, which has a prediction; {REMEDY}")
    return list(by_id.values())
