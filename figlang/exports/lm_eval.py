"""Items as a task of lm-evaluation-harness 0.4.13: a YAML file beside a JSONL file.

Its metrics and the settings of `figlang evaluate` that give the same choices on the same network, item by
item: `acc` is scoring=answer; `acc_bytes` is scoring=answer scoring.norm=byte; `acc_norm` is a mean per
character, which is that per byte where all options are ASCII. The harness puts no token before a text unless
the tokenizer does, so `scoring.bos=none` goes with each.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

from figlang.types import Prompted

PREFIX = "figlang_"
METRICS = ("acc", "acc_norm", "acc_bytes")
HEAD = """# Made by figlang export tool=lm_eval. Run it by: lm_eval --include_path {folder} --tasks {task}
# acc = figlang evaluate scoring=answer scoring.bos=none; acc_bytes = the same with scoring.norm=byte.
# acc_norm is a mean per character: it is acc_bytes where all options are ASCII.
"""


def write(asked: Sequence[Prompted], name: str, folder: Path, place: Path) -> Path:
    """Write a task.

    Args:
        asked: The items in words.
        name: The name of the task, of letters, digits, `_` and `-`.
        folder: An existing folder to write to.
        place: The folder where it will stand, which the task names.

    Returns:
        The YAML file, in `folder`.
    """
    rows = folder / f"{name}.jsonl"
    rows.write_text("".join(json.dumps(row(each), ensure_ascii=False) + "\n" for each in asked), "utf-8")
    file = folder / f"{name}.yaml"
    head = HEAD.format(folder=quote(str(place)), task=PREFIX + name)
    text = yaml.safe_dump(keys(name, place), sort_keys=False, allow_unicode=True, width=1000)
    file.write_text(head + text, encoding="utf-8")
    return file


def keys(name: str, place: Path) -> dict[str, Any]:
    """The keys of the task file. Columns are named, so that no text of an item is read as a template."""
    return {
        "task": PREFIX + name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str((place / f"{name}.jsonl").resolve())}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": "answers",
        "doc_to_target": "gold",
        # Spaces stand at the end of a prompt. The harness moves them to the answer, as figlang does.
        "target_delimiter": "",
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in METRICS
        ],
        "metadata": {"version": 1.0},
    }


def row(each: Prompted) -> dict[str, Any]:
    """An item as a row. Its attributes have columns of their own."""
    item = each.item
    return {
        "id": item.id,
        "group": item.group,
        "prompt": each.prompt,
        "answers": list(each.answers),
        "gold": item.gold,
        **{f"attribute_{name}": ", ".join(values) for name, values in item.attributes.items()},
    }
