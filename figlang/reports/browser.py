"""The items of a chapter as compact columns, for the page's item browser.

Choices and scores of a system are strings, to be short: a letter for each choice, two bytes (in base64) for
each score.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from figlang.reports.parts import Chapter

NO_SCORE = 65535  # the code of a score that is not a number
LEVELS = NO_SCORE - 1  # steps between the lowest and the highest score of a system
MINIMUM = 1e-9  # of a step, for systems whose scores are all equal
TIE = ord("0")  # the letter of a tie; the first option is the letter after it


def columns(chapter: Chapter, attributes: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
    """Make plain data, a list for each column.

    Repeated texts and values are written once and referred to by number. Each seed of a system is a system of
    its own here, so that readers can see how seeds differ.
    """
    rows = chapter.systems[0].predictions
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    by_id = [{row.id: row for row in system.predictions} for system in chapter.systems]
    ordered = [[found[row.id] for row in rows] for found in by_id]
    own: dict[str, dict[str, Sequence[str]]] = {}
    for row in rows:
        for name, given in row.attributes.items():
            own.setdefault(name, {})[row.id] = given
    return {
        "name": chapter.name,
        "systems": [system.name for system in chapter.systems],
        "ids": [row.id for row in rows],
        "groups": _numbered([row.group for row in rows]),
        "gold": [-1 if row.gold is None else row.gold for row in rows],
        "contexts": [number(chapter.items[row.id].context) for row in rows] if chapter.items else [],
        "options": [[number(text) for text in chapter.items[row.id].options] for row in rows]
        if chapter.items
        else [],
        "sizes": [len(row.scores) for row in rows],
        "scores": [packed([score for row in each for score in row.scores]) for each in ordered],
        "choices": [
            "".join(chr(TIE if row.choice is None else TIE + 1 + row.choice) for row in each)
            for each in ordered
        ],
        "attributes": [
            *(
                _attribute(name, True, [values.get(row.id, ()) for row in rows])
                for name, values in own.items()
            ),
            *(
                _attribute(name, False, [values.get(row.id, ()) for row in rows])
                for name, values in attributes.items()
            ),
        ],
        "texts": list(texts),  # last: the columns above add texts to the list
    }


def _attribute(name: str, own: bool, values: Sequence[Sequence[str]]) -> dict[str, Any]:
    known: dict[str, int] = {}
    rows = [[known.setdefault(value, len(known)) for value in each] for each in values]
    return {"name": name, "own": own, "values": list(known), "rows": rows}


def _numbered(values: Sequence[str]) -> list[int]:
    places: dict[str, int] = {}
    return [places.setdefault(value, len(places)) for value in values]


def packed(scores: Sequence[float]) -> dict[str, Any]:
    """Pack the scores of a system, item by item and option by option, as steps between the lowest and the
    highest."""
    values_N = np.asarray(scores, float)
    finite_N = np.isfinite(values_N)
    low, high = (float(end(values_N[finite_N])) for end in (np.min, np.max)) if finite_N.any() else (0.0, 0.0)
    step = max(high / LEVELS - low / LEVELS, MINIMUM)
    codes_N = np.full(len(values_N), NO_SCORE)
    codes_N[finite_N] = np.rint((values_N[finite_N] - low) / step).clip(0, LEVELS)
    return {"low": low, "step": step, "codes": b64encode(codes_N.astype("<u2").tobytes()).decode()}
