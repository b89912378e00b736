"""Records of a table: CSV, TSV, JSON lines, a JSON list, Parquet. Values keep their types."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError, one_line
from figlang.files.missing import no_such_file
from figlang.files.rows import Problems, csv_rows, json_objects, whole_json

FORMS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
# Number of the row, from 1, and its values by column. An object in an object has the column `outer.inner`.
Record = tuple[int, dict[str, Any]]


def records(path: Path, problems: Problems) -> Iterator[Record]:
    """Read the records of a table.

    Args:
        path: A file with one of the endings FORMS.
        problems: Takes the notes.

    Yields:
        The number of each record, from 1, and its values. Cells of CSV and TSV files are text.

    Raises:
        FiglangError: There is no such file, or it is not of one of these forms.
    """
    form = path.suffix.lower()
    if form in (".csv", ".tsv"):
        yield from csv_rows(path, (), problems, "\t" if form == ".tsv" else None)
    elif form == ".jsonl":
        for number, row in json_objects(path, problems):
            yield number, _flat(row)
    elif form == ".json":
        yield from _json(path, whole_json(path), problems)
    elif form == ".parquet":
        yield from numbered(_parquet(path))
    else:
        raise FiglangError(f"{path}: this is not a table; give a file that ends with {', '.join(FORMS)}")


def numbered(rows: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """Records of rows that a library read."""
    for number, row in enumerate(rows, start=1):
        yield number, _flat(row)


def columns(path: Path) -> tuple[str, ...]:
    """The columns of the first records of a table; none if it cannot be read."""
    try:
        return tuple(
            dict.fromkeys(
                name for _, row in islice(records(path, Problems(path, strict=False)), 20) for name in row
            )
        )
    except FiglangError:
        return ()


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _json(path: Path, content: Any, problems: Problems) -> Iterator[Record]:
    if not isinstance(content, list):
        raise FiglangError(f"{path} is not a list of objects; write [{{…}}, {{…}}]")
    for number, row in enumerate(content, start=1):
        if isinstance(row, dict):
            yield number, _flat(row)
        else:
            problems.add(
                number, f"{json.dumps(row)[:40]} is not an object, row left out", "write a list of objects"
            )


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise no_such_file(path)
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:  # errors of Arrow are one of these
        raise FiglangError(f"{path} is not a Parquet file ({one_line(error)}); write it again") from error
