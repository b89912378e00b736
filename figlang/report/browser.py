"""The items of a task as compact columns, for the page's item browser."""

from collections.abc import Mapping, Sequence
from typing import Any

from figlang.report.parts import Task

DIGITS = 4


def columns(task: Task, attributes: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
    """Plain data, one list per column; texts and values that come again are written once and named by number.

    Several seeds of one system are systems of their own here: what differs between them can be looked at.
    """
    rows = task.systems[0].predictions
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    by_id = [{row.id: row for row in system.predictions} for system in task.systems]
    ordered = [[found[row.id] for row in rows] for found in by_id]
    own: dict[str, dict[str, Sequence[str]]] = {}
    for row in rows:
        for name, given in row.attributes.items():
            own.setdefault(name, {})[row.id] = given
    return {
        "name": task.name,
        "systems": [system.name for system in task.systems],
        "ids": [row.id for row in rows],
        "groups": _numbered([row.group for row in rows]),
        "gold": [-1 if row.gold is None else row.gold for row in rows],
        "contexts": [number(task.items[row.id].context) for row in rows] if task.items else [],
        "options": [[number(text) for text in task.items[row.id].options] for row in rows] if task.items else [],
        "scores": [[[_rounded(score) for score in row.scores] for row in each] for each in ordered],
        "choices": [[-1 if row.choice is None else row.choice for row in each] for each in ordered],
        "attributes": [
            *(_attribute(name, True, [values.get(row.id, ()) for row in rows]) for name, values in own.items()),
            *(_attribute(name, False, [values.get(row.id, ()) for row in rows]) for name, values in attributes.items()),
        ],
        "texts": list(texts),  # last: the columns above have named them
    }


def _attribute(name: str, own: bool, values: Sequence[Sequence[str]]) -> dict[str, Any]:
    known: dict[str, int] = {}
    rows = [[known.setdefault(value, len(known)) for value in each] for each in values]
    return {"name": name, "own": own, "values": list(known), "rows": rows}


def _numbered(values: Sequence[str]) -> list[int]:
    places: dict[str, int] = {}
    return [places.setdefault(value, len(places)) for value in values]


def _rounded(score: float) -> float | None:
    # JSON has no nan or infinity.
    return round(score, DIGITS) if abs(score) < float("inf") else None
