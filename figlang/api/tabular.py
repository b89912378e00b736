"""Rows that are plain dictionaries as tables of pandas and of `datasets`, and back."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from figlang.errors import FiglangError
from figlang.runs.records import Record, missing

# Columns whose values are whole numbers, or yes and no, where a value may be missing.
NULLABLE = {"gold": "Int64", "choice": "Int64", "correct": "boolean", "paired": "boolean"}


def to_pandas(records: Sequence[Record]) -> Any:
    """A pandas DataFrame with a line for each row.

    Args:
        records: The rows.
    """
    frame = import_module("pandas").DataFrame(list(records))
    return frame.astype({name: kind for name, kind in NULLABLE.items() if name in frame.columns})


def from_pandas(frame: Any) -> list[Record]:
    """The rows of a pandas DataFrame.

    Args:
        frame: The DataFrame.

    Raises:
        FiglangError: It is something else.
    """
    if not hasattr(frame, "to_dict") or not hasattr(frame, "columns"):
        raise FiglangError(f"a pandas DataFrame is wanted, not {type(frame).__name__}")
    return [_present(row) for row in frame.to_dict("records")]


def to_datasets(records: Sequence[Record]) -> Any:
    """A `datasets.Dataset` with a line for each row. An attribute is a list of texts in every line.

    Args:
        records: The rows.
    """
    names = dict.fromkeys(name for record in records for name in record)
    several = {name for record in records for name, value in record.items() if isinstance(value, list)}
    rows = [
        {name: _listed(record.get(name)) if name in several else record.get(name) for name in names}
        for record in records
    ]
    return import_module("datasets").Dataset.from_list(rows)


def from_datasets(dataset: Any) -> list[Record]:
    """The rows of a `datasets.Dataset`.

    Args:
        dataset: The Dataset, one split of it.

    Raises:
        FiglangError: It is something else, for example several splits.
    """
    if not hasattr(dataset, "column_names") or isinstance(dataset.column_names, dict):
        raise FiglangError(
            f"one split of a data set is wanted, not {type(dataset).__name__}; take for example "
            'dataset["validation"]'
        )
    return [_present(row) for row in dataset]


def _present(row: Mapping[str, Any]) -> Record:
    return {str(name): value for name, value in row.items() if not missing(value)}


def _listed(value: Any) -> list[Any] | None:
    return [value] if isinstance(value, str) else value
