"""MUNCH's task files are compared with its tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.types import Split
from tests.tasks.munch.test_reading import OTHER, SENTENCE, TRIPLE, read, write

ENTRY = {
    "s0": "He *saw* that he saw.",
    "options": [{"text": "noticed", "label": "apt"}, {"text": "cut", "label": "inapt"}],
}


def task(root: Path, name: str, content: Any) -> None:
    folder = root / "munch" / "tasks"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))


def notes(split: Split) -> list[str]:
    return [note for note in split.notes if ".json" in note]


def test_a_task_file_that_agrees_says_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", [{"dataset_index": 0, **ENTRY}])
    task(
        root,
        "generation",
        [{"dataset_index": 0, "s0": SENTENCE["s0"]}, {"dataset_index": 1, "s0": OTHER["s0"]}],
    )
    assert notes(read(root, strict=True)) == []


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        (
            [{"dataset_index": 0, **ENTRY, "s0": "He saw that he *saw*."}],
            "row 1: word_judge.json has another s0",
        ),
        (
            [{"dataset_index": 0, **ENTRY, "options": ENTRY["options"][::-1]}],
            "row 1: word_judge.json has another options",
        ),
        ([], "row 1: word_judge.json lacks it"),
        (
            [{"dataset_index": 0, **ENTRY}, {"dataset_index": 5, **ENTRY}],
            "word_judge.json has 1 entries of no row, dataset_index 5",
        ),
        (
            [{"dataset_index": 0, **ENTRY, "s0": "He saw."}, {"dataset_index": 0, **ENTRY}],
            "word_judge.json has 1 entries whose dataset_index another one has",
        ),
    ],
)
def test_a_task_file_that_disagrees_is_noted_and_the_table_read(
    tmp_path: Path, entries: Any, note: str
) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", entries)
    split = read(root, question="word", order="upstream")
    assert split.items[0].options[:2] == ("noticed", "cut")
    (found,) = notes(split)
    assert found.startswith(
        f"for_judgement.csv {note}" if note.startswith("row") else f"for_judgement.csv: {note}"
    )
    with pytest.raises(FiglangError, match="refuses the file"):
        read(root, strict=True)


@pytest.mark.parametrize("content", ["{", "[1]", '[{"s0": ""}]', "7"])
def test_a_damaged_task_file_is_one_line(tmp_path: Path, content: str) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", content)
    with pytest.raises(
        FiglangError, match=r"word_judge\.json is not a list of JSON objects with a dataset_index"
    ) as error:
        read(root)
    assert "\n" not in str(error.value)
