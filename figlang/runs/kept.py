"""Items that are in no data set, kept beside their predictions, so that a report can show their texts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from figlang.config import DataConfig
from figlang.errors import FiglangError, one_line
from figlang.files.whole import write_lines
from figlang.runs import records
from figlang.types import Item, Split

ITEMS = "items.jsonl"


def write(folder: Path, items: Sequence[Item]) -> None:
    """Write items beside their predictions.

    Args:
        folder: The folder of the evaluation.
        items: The items.
    """
    lines = (json.dumps(records.of_item(item), ensure_ascii=False) + "\n" for item in items)
    write_lines(folder / ITEMS, lines)


def read(folder: Path, described: dict[str, Any], data: DataConfig) -> Split | None:
    """Read the items of an evaluation that keeps them.

    Args:
        folder: Its folder.
        described: What its metrics.json says of the split.
        data: The settings of its data.

    Returns:
        The split; None if the folder keeps no items.

    Raises:
        FiglangError: The file is damaged.
    """
    path = folder / ITEMS
    if not path.is_file():
        return None
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        items = records.read_items([from_json(line) for line in lines if line])
    except (OSError, ValueError, FiglangError) as error:
        raise FiglangError(
            f"{path} cannot be read ({one_line(error)}); save the predictions again"
        ) from error
    name, sha256 = str(described.get("name", "items")), str(described.get("sha256", ""))
    return Split(name, tuple(items), str(path), sha256, task=data.dataset, question=data.question)
