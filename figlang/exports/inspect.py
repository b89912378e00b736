"""Items as a task of inspect_ai: a Python module beside a JSONL file. A chat model names a letter."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from figlang.tasks.lettered import Lettered
from figlang.text.amounts import counted

MODULE = '''"""{name}: {count}. Made by figlang export tool=inspect.

Run it by: inspect eval {name}.py --model MODEL
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

FILE = Path(__file__).with_suffix(".jsonl")


def sample(row: dict) -> Sample:
    return Sample(
        input=row["question"],
        choices=row["choices"],
        target=row["target"],
        id=row["id"],
        metadata={{"group": row["group"], "options": row["options"], "attributes": row["attributes"]}},
    )


@task
def {function}() -> Task:
    return Task(dataset=json_dataset(str(FILE), sample), solver=multiple_choice(), scorer=choice())
'''


def write(asked: Sequence[Lettered], name: str, folder: Path) -> Path:
    """Write a task.

    Args:
        asked: The items with their options in the order that is shown.
        name: The name of the module.
        folder: An existing folder to write to.

    Returns:
        The module.
    """
    rows = "".join(json.dumps(row(each), ensure_ascii=False) + "\n" for each in asked)
    (folder / f"{name}.jsonl").write_text(rows, encoding="utf-8")
    module = folder / f"{name}.py"
    function = re.sub(r"\W", "_", f"figlang_{name}", flags=re.ASCII)
    module.write_text(
        MODULE.format(name=name, count=counted(len(asked), "item"), function=function), encoding="utf-8"
    )
    return module


def row(each: Lettered) -> dict[str, Any]:
    """An item as a row. `options` has the place of each shown option in figlang's item."""
    item = each.item
    assert item.gold is not None
    question, lettered, _ = each.message.partition("\n(A) ")
    return {
        "id": item.id,
        "group": item.group,
        "question": question if lettered else item.context,
        "choices": list(item.options),
        "target": ascii_uppercase[item.gold],
        "options": [each.places.index(shown) for shown in range(len(item.options))],
        "attributes": {name: list(values) for name, values in item.attributes.items()},
    }
