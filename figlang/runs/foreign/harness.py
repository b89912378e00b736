"""`samples_*.jsonl` of lm-evaluation-harness, of tasks with `output_type: multiple_choice`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.files import stored
from figlang.runs.foreign.rows import identifier, option, scores
from figlang.types import Prediction

KEYS = frozenset({"doc_id", "doc", "target", "filtered_resps"})
OWN = ("doc.id", "doc_id")


def model(path: Path) -> str:
    """The name of the model: the harness writes a folder for each model."""
    folder = path.parent.name
    return folder.replace("__", "/") if folder else path.stem


def read(path: Path, join: str | None) -> list[Prediction]:
    """A prediction for each document. Scores are sums of log-probabilities, which `acc` compares.

    Args:
        path: The file.
        join: The place of the ids, for example `doc.name`; None: `doc.id`, or else `doc_id`.

    Raises:
        FiglangError: A line is not of a multiple-choice task.
    """
    return [_prediction(f"{path}: line {number}", row, join) for number, row in _first_filter(path)]


def _first_filter(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The lines of the first filter. Each filter of a task has a line for every document."""
    wanted: Any = None
    for number, row in stored.rows(path, stored.OBJECT, "an object in braces", "give a file of samples"):
        wanted = row.get("filter") if number == 1 else wanted
        if row.get("filter") == wanted:
            yield number, row


def _prediction(where: str, row: Mapping[str, Any], join: str | None) -> Prediction:
    options = _options(row)
    replies = row.get("filtered_resps")
    if not isinstance(replies, list) or len(options) != len(replies):
        raise FiglangError(f"{where} is not of a multiple-choice task; give samples of one")
    values = scores([reply[0] if isinstance(reply, list) and reply else None for reply in replies], where)
    gold = option(row.get("target"), options)
    if gold is None or gold >= len(values):
        raise FiglangError(
            f"{where}: the target {row.get('target')!r} is not one of its {len(values)} options"
        )
    name = identifier(row, OWN if join is None else (join,), where)
    return Prediction(name, name, gold, values, paired=False)


def _options(row: Mapping[str, Any]) -> list[str]:
    """The continuations that were scored, without the space before them."""
    asked = row.get("arguments")
    if isinstance(asked, list):  # older versions wrote a list of context and continuation
        return [str(one[1]).strip() for one in asked if isinstance(one, list) and len(one) > 1]
    if not isinstance(asked, Mapping):
        return []
    numbered = sorted(asked.items(), key=lambda one: _number(one[0]))
    return [str(each.get("arg_1", "")).strip() for _, each in numbered if isinstance(each, Mapping)]


def _number(key: str) -> tuple[int, str]:
    """A sort key by the number in a text, however long it is."""
    digits = re.sub(r"\D", "", key).lstrip("0")
    return len(digits), digits
