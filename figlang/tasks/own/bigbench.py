"""BIG-bench's `task.json` with multiple choice: `examples` of `input` and `target_scores`.

The prefixes of the file and its list of choices in the prompt are not read: figlang words items itself.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from figlang.files.rows import Problems
from figlang.files.tables import Record

# Of context, options and right option.
COLUMNS = ("input", "options", "gold")


def is_task(content: Any) -> bool:
    """Whether the content of a JSON file is a task of BIG-bench."""
    return isinstance(content, dict) and isinstance(content.get("examples"), list)


def records(content: Mapping[str, Any], problems: Problems) -> Iterator[Record]:
    """The examples as rows with the columns of COLUMNS and those of the example.

    Args:
        content: The content of the file.
        problems: Takes notes about examples that are not a choice.
    """
    for number, example in enumerate(content["examples"], start=1):
        scores = example.get("target_scores") if isinstance(example, dict) else None
        if not (
            isinstance(scores, dict)
            and isinstance(example.get("input"), str)
            and all(isinstance(score, int | float) for score in scores.values())
        ):
            problems.add(
                number,
                "no input with target_scores, example left out",
                "only examples with multiple choice are read",
            )
            continue
        best = [place for place, score in enumerate(scores.values()) if score == max(scores.values())]
        if len(best) != 1 or max(scores.values()) <= 0:
            problems.add(
                number,
                f"{len(best)} options have the highest of its target_scores, example left out",
                "an item has one right option",
            )
            continue
        yield number, {**example, "options": list(scores), "gold": best[0]}


def stem(path: Path) -> str:
    """The start of the ids of items. Tasks of BIG-bench are folders with files of one name."""
    return path.resolve().parent.name if path.stem == "task" else path.stem
