"""Rows as plain dictionaries, and as tables of pandas and of `datasets`.

A row has a key for each field. Every other key is an attribute: a category, or several in a list.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from figlang.errors import FiglangError

Record = dict[str, Any]
# Columns whose values are whole numbers, or yes and no, where a value may be missing.
NULLABLE = {"gold": "Int64", "choice": "Int64", "correct": "boolean", "paired": "boolean"}


def with_attributes(record: Record, attributes: Mapping[str, Sequence[str]]) -> Record:
    """A row with its attributes as further keys.

    Args:
        record: The fields.
        attributes: The values of each attribute.

    Returns:
        The row; an attribute with one value is text, one with several a list.
    """
    named = {name: values[0] if len(values) == 1 else list(values) for name, values in attributes.items()}
    return {**named, **record}


def attributes(record: Mapping[str, Any], fields: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The attributes of a row: all keys but the fields.

    Args:
        record: The row.
        fields: The names of fields.

    Returns:
        The values of each attribute that the row has.
    """
    known = set(fields)
    found = {name: _values(value) for name, value in record.items() if name not in known}
    return {str(name): values for name, values in found.items() if values}


def _values(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Iterable):
        return tuple(map(str, value))
    return () if missing(value) else (str(value),)


def missing(value: Any) -> bool:
    """Whether a cell holds no value: None, nan, or the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


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
