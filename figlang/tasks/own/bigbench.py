"""BIG-bench's `task.json` with multiple choice: `examples` of `input` and `target_scores`.

A file that names a part of its prompt (`PROMPT`) words its items: the parts that it leaves out are those of
BIG-bench. A file that names none is worded by figlang, like any table.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.files.rows import Problems
from figlang.files.tables import Record

# Of context, options and right option.
COLUMNS = ("input", "options", "gold")
# The parts of a prompt, with what BIG-bench puts where a file does not say.
PROMPT: Mapping[str, str | bool] = {
    "task_prefix": "",
    "example_input_prefix": "\nQ: ",
    "append_choices_to_input": True,
    "choice_prefix": "\n  choice: ",
    "example_output_prefix": "\nA: ",
}


def is_task(content: Any) -> bool:
    """Whether the content of a JSON file is a task of BIG-bench."""
    return isinstance(content, dict) and isinstance(content.get("examples"), list)


def worded(content: Mapping[str, Any], path: Path) -> bool:
    """Whether a file says how its prompt is worded.

    Raises:
        FiglangError: A part of the prompt is not a text, or `append_choices_to_input` is not true or false.
    """
    given = [name for name in PROMPT if name in content]
    for name in given:
        kind = type(PROMPT[name])
        if not isinstance(content[name], kind):
            wanted = "a text" if kind is str else "true or false"
            raise FiglangError(f"{path}: {name} is {content[name]!r}; write {wanted}, or leave it out")
    return bool(given)


def records(content: Mapping[str, Any], problems: Problems) -> Iterator[Record]:
    """The examples as rows with the columns of COLUMNS and those of the example.

    Args:
        content: The content of the file.
        problems: Takes notes about examples that are not a choice.

    Raises:
        FiglangError: A part of the prompt has a wrong type.
    """
    by_file = worded(content, problems.path)
    for number, example in enumerate(content["examples"], start=1):
        scores = example.get("target_scores") if isinstance(example, dict) else None
        if not (
            isinstance(scores, dict)
            and isinstance(example.get("input"), str)
            and all(isinstance(score, int | float) and abs(score) < inf for score in scores.values())
        ):
            problems.add(
                number,
                "no input with target_scores, example left out",
                "only examples with multiple choice are read",
            )
            continue
        most = max(scores.values(), default=0)
        best = [place for place, score in enumerate(scores.values()) if score == most]
        if len(best) != 1 or most <= 0:
            problems.add(
                number,
                f"{len(best)} options have the highest of its target_scores, example left out",
                "an item has one right option",
            )
            continue
        text = _prompt(content, example["input"], list(scores)) if by_file else example["input"]
        yield number, {**example, "input": text, "options": list(scores), "gold": best[0]}


def _prompt(content: Mapping[str, Any], text: str, options: Sequence[str]) -> str:
    """An example without its answer, as the file words it. Options stand in the order of the file."""
    parts = {**PROMPT, **{name: content[name] for name in PROMPT if name in content}}
    shown = [f"{parts['choice_prefix']}{option}" for option in options]
    listed = "".join(shown) if parts["append_choices_to_input"] else ""
    before = f"{parts['task_prefix']}{parts['example_input_prefix']}"
    return f"{before}{text}{listed}{parts['example_output_prefix']}"


def stem(path: Path) -> str:
    """The start of the ids of items. Tasks of BIG-bench are folders with files of one name."""
    return path.resolve().parent.name if path.stem == "task" else path.stem
