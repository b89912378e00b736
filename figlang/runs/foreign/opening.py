"""Which tool wrote a file, and its rows as predictions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.runs.foreign import columns, harness, inspecting
from figlang.runs.foreign.rows import one_hot
from figlang.types import Prediction

TABLES = (".csv", ".tsv")
LOGS = (".eval", ".json")


@dataclass(frozen=True)
class Foreign:
    """Results that another tool measured.

    Attributes:
        model: The name of the model, as far as the file knows it.
        tool: The name of the tool.
        predictions: A prediction for each item. An item without a cluster of its own is its own cluster.
    """

    model: str
    tool: str
    predictions: tuple[Prediction, ...]


def foreign(path: Path) -> bool:
    """Whether a file is of another tool. A file of predictions by figlang has the keys id, group and scores
    in its first line, or belongs to a metrics.json."""
    if path.suffix in (*TABLES, *LOGS):
        return True
    if any((folder / "metrics.json").exists() for folder in (path.parent, path.parent.parent)):
        return False
    first = _first(path)
    return bool(first) and not first.keys() >= {"id", "group", "scores"}


def read(path: Path, join: str | None) -> Foreign:
    """Read the results of another tool.

    Args:
        path: `samples_*.jsonl` of lm-evaluation-harness, `.eval` or `.json` of inspect_ai, or a JSONL, CSV or
            TSV file with the columns id, gold, and choice or scores.
        join: The column that holds the ids of items; None: the tool's own.

    Returns:
        The results.

    Raises:
        FiglangError: A row cannot be read, or an id occurs twice. The error names the file, the row
            and the remedy.
    """
    if path.suffix in TABLES:
        model, tool, rows = path.stem, "a table", columns.table(path, join)
    elif path.suffix in LOGS:
        model, rows = inspecting.read(path, join)
        tool = "inspect_ai"
    elif _first(path).keys() >= harness.KEYS:
        model, tool, rows = harness.model(path), "lm-evaluation-harness", harness.read(path, join)
    else:
        model, tool, rows = path.stem, "a table", columns.lines(path, join)
    known: set[str] = set()
    for row in rows:
        if row.id in known:
            raise FiglangError(
                f"{path}: the id {row.id} occurs twice; name the column of ids that differ by join=COLUMN"
            )
        known.add(row.id)
    if not rows:
        raise FiglangError(f"{path} has no results in it; give another file")
    return Foreign(model, tool, tuple(rows))


def adopted(
    rows: Sequence[Prediction], known: Mapping[str, Prediction], where: str
) -> tuple[Prediction, ...]:
    """The rows with the clusters, attributes and numbers of options of the same items in an evaluation by
    figlang.

    Another tool does not know which items depend on each other, and a test needs that. A choice alone does
    not say how many options there were, and chance needs that.

    Args:
        rows: The rows of another tool.
        known: Predictions by figlang, by the id of the item.
        where: The file, for errors.

    Returns:
        The rows. Those of unknown items are as they were.

    Raises:
        FiglangError: A row has scores of more or fewer options than the item, or chooses one that is not
            there.
    """
    return tuple(
        replace(
            row,
            group=same.group,
            attributes=same.attributes,
            paired=same.paired,
            scores=_fitted(row, len(same.scores), where),
        )
        if (same := known.get(row.id)) is not None
        else row
        for row in rows
    )


def _fitted(row: Prediction, count: int, where: str) -> tuple[float, ...]:
    """The scores of a row for the options of its item. A choice alone has a 1 for it and 0 for the others."""
    if len(row.scores) == count:
        return row.scores
    chosen = [place for place, score in enumerate(row.scores) if score]
    if not {0.0, 1.0}.issuperset(row.scores) or len(chosen) > 1:
        raise FiglangError(
            f"{where}: item {row.id} has {len(row.scores)} scores, and {count} options in figlang's "
            "evaluation; give results on the same items"
        )
    if chosen and chosen[0] >= count:
        raise FiglangError(
            f"{where}: the choice of item {row.id} is number {chosen[0]}, and it has {count} options in "
            "figlang's evaluation, from number 0; give results on the same items"
        )
    return one_hot(chosen[0] if chosen else None, count)


def _first(path: Path) -> dict[str, Any]:
    """The object in the first line of a file; empty if there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return {}  # the reader of predictions says what is wrong
    return row if isinstance(row, dict) else {}
