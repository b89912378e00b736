"""Results in a table of your own: the columns id, gold, and choice or scores.

`gold` and `choice` are the number of an option from 0, its letter, or empty. `scores` is a list in JSON, or
the columns `score_0`, `score_1` and so on. `group` is the same for rows that depend on each other. It may be
left out. Every other column becomes an attribute.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.files import stored
from figlang.files.rows import Problems, csv_rows
from figlang.runs.foreign.rows import at, identifier, one_hot, option, scores
from figlang.tasks.pairs import lone
from figlang.types import Prediction

OWN = {"id", "gold", "choice", "scores", "group", "attributes"}
REMEDY = "give the columns id, gold, and choice or scores (or score_0, score_1 and so on)"


def table(path: Path, join: str | None) -> list[Prediction]:
    """Predictions of a CSV or TSV file. Arguments and errors are those of `lines`."""
    problems = Problems(path, strict=False, whole=True)
    return _predictions(path, csv_rows(path, (join or "id", "gold"), problems), join)


def lines(path: Path, join: str | None) -> list[Prediction]:
    """Predictions of a JSONL file.

    Args:
        path: The file.
        join: The column of the ids; None: `id`.

    Raises:
        FiglangError: A row lacks a column, or its gold option or choice is not one of its options.
    """
    rows = stored.rows(path, stored.OBJECT, "an object in braces", REMEDY)
    return _predictions(path, rows, join)


def _predictions(
    path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]], join: str | None
) -> list[Prediction]:
    numbered = list(rows)
    # A choice alone does not say how many options there are: two, or as many as any row of the file names.
    named = [option(row.get(key)) for _, row in numbered for key in ("gold", "choice")]
    width = max([2, *(place + 1 for place in named if place is not None)])
    clusters = {str(group) for _, row in numbered if (group := at(row, "group")) not in (None, "")}
    return [_prediction(f"{path}: row {number}", row, join, width, clusters) for number, row in numbered]


def _prediction(
    where: str, row: Mapping[str, Any], join: str | None, width: int, clusters: Collection[str]
) -> Prediction:
    name = identifier(row, (join or "id",), where)
    values = _scores(row, where)
    if values is None:
        if "choice" not in row:
            raise FiglangError(f"{where} has neither choice nor scores; {REMEDY}")
        values = one_hot(_place(row["choice"], "choice", width, where), width)
    gold = _place(row.get("gold"), "gold", len(values), where)
    group = at(row, "group")
    attributes = dict(_attributes(row, join))
    group = lone(name, clusters) if group in (None, "") else str(group)
    return Prediction(name, group, gold, values, attributes, paired=False)


def _place(value: Any, name: str, width: int, where: str) -> int | None:
    """The option that a cell names; None if it is empty."""
    if value is None or value == "":
        return None
    place = option(value)
    if place is None or place >= width:
        raise FiglangError(
            f"{where}: {name} is {value!r}; write the number of an option from 0, or its letter"
        )
    return place


def _scores(row: Mapping[str, Any], where: str) -> tuple[float, ...] | None:
    if row.get("scores") not in (None, ""):
        value = row["scores"]
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                value = None
        return scores(value, where)
    numbered = [key for key in row if key.startswith("score_") and option(key[6:]) is not None]
    ordered = sorted(numbered, key=lambda key: option(key[6:]) or 0)
    given = [row[key] for key in ordered if row[key] not in (None, "")]
    return scores(given, where) if given else None


def _attributes(row: Mapping[str, Any], join: str | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    nested = row.get("attributes")
    named = dict(nested) if isinstance(nested, Mapping) else {}
    for key, value in {**row, **named}.items():
        if key in OWN or key == join or key.startswith("score_") or value in (None, ""):
            continue
        several = value if isinstance(value, list) else [value]
        yield key, tuple(str(each) for each in several)
