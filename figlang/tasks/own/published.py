"""Published numbers about a file of one's own, from a CSV file beside it. They are shown, never measured."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from figlang.config import DataConfig
from figlang.errors import FiglangError
from figlang.files.rows import Problems, csv_rows
from figlang.files.sources import local_path
from figlang.tasks.reference import Comparison, Published, comparable_first

COLUMNS = ("system", "split", "metric", "value", "source")
SUFFIX = ".published.csv"
METRICS = ("accuracy", "pair_accuracy")
SPLITS = {"dev": "validation", "val": "validation", "valid": "validation"}


def place(data: DataConfig, split: str) -> Path | None:
    """The file of published numbers: the one that is named, or the one beside the items.

    Args:
        data: The group data, with the settings of its YAML file.
        split: The split that is evaluated.

    Returns:
        The path; None if there is no such file.
    """
    if data.published is not None:
        return local_path(data.published)
    own = {"train": data.train, "validation": data.validation, "test": data.test}.get(split)
    file = own or data.file
    beside = None if file is None else local_path(file).with_suffix(SUFFIX)
    return beside if beside is not None and beside.is_file() else None


def read(path: Path, benchmark: str) -> list[Published]:
    """Read published numbers.

    Args:
        path: A CSV file with COLUMNS.
        benchmark: The name of the data.

    Raises:
        FiglangError: A column is missing, or a value is not a number in per cent.
    """
    found = []
    for number, row in csv_rows(path, COLUMNS, Problems(path, strict=False, whole=True)):
        try:
            value = float(row["value"])
        except ValueError:
            value = -1.0
        if not 0 <= value <= 100 or 0 < value < 1:
            raise FiglangError(
                f"{path} row {number}: value {row['value'][:20]!r} is not in per cent; write for example 62.5"
            )
        split = row["split"].strip()
        setting = {"split": SPLITS.get(split, split)} if split else {}
        source, metric = row["source"].strip(), row["metric"].strip()
        found.append(
            Published(source, "", benchmark, row["system"].strip(), setting, metric, value, "percent", "")
        )
    return found


def compare(data: DataConfig, content: Mapping[str, Any]) -> list[Comparison]:
    """Published numbers to show beside an evaluation.

    Args:
        data: The group data of the evaluation, with the settings of its YAML file.
        content: Its metrics.json.

    Returns:
        Comparable numbers first. A number is comparable if it is about the same split, or names none, and if
        all items were evaluated.
    """
    path = place(data, content["split"])
    if path is None or not path.is_file():
        return []
    return comparable_first(
        _compare(row, content) for row in read(path, content["data_name"]) if row.metric in METRICS
    )


def _compare(row: Published, content: Mapping[str, Any]) -> Comparison:
    where, split = row.setting.get("split"), content["split"]
    reason = ""
    if not content["published_file"]:
        reason = "measured on all items, and these are some of them"
    elif where not in (None, split):
        reason = f"measured on {where}, this is {split}"
    return Comparison(row, not reason, reason)
