"""The options of a row: a list in one cell, or a cell each."""

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

FEWEST = 2


def of(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[str, ...] | None:
    """The options of a row.

    Args:
        row: Its values by column.
        columns: One column with a list, or the columns with one option each. Empty cells at the end of these,
            and empty values at the end of a list, are not options.

    Returns:
        The options without spaces around them; None if the one cell holds no list, or if an
        empty cell stands before a full one.
    """
    if len(columns) == 1:
        return listed(row.get(columns[0]))
    return _full([row.get(name) for name in columns])


def listed(value: Any) -> tuple[str, ...] | None:
    """The texts of a list. A cell of text may hold a list of JSON or Python, or texts between `|`."""
    if isinstance(value, str):
        value = _parsed(value.strip())
    if not isinstance(value, list | tuple):
        return None
    return _full(value)


def _full(values: Sequence[Any]) -> tuple[str, ...] | None:
    texts = [_text(one) for one in values]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts) if texts and all(texts) else None


def _parsed(cell: str) -> Any:
    if cell.startswith("[") and cell.endswith("]"):
        try:
            return json.loads(cell)
        except ValueError:
            pass
        try:
            return ast.literal_eval(cell)  # literals only: nothing is run
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return cell.split("|") if "|" in cell else None


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, str | int | float) and value == value else ""
