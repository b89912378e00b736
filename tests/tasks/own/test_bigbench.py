"""Task files of BIG-bench are read as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from tests.tasks.own.written import EXPECTED, FRASES, load


def test_big_bench_is_read(tmp_path: Path) -> None:
    examples: list[Any] = [
        {
            "input": frase,
            "target_scores": {option: int(place == right) for place, option in enumerate(options)},
        }
        for frase, options, right, _ in FRASES
    ]
    odd = [{"input": "x", "target": "free"}, {"input": "x", "target_scores": {"a": 1, "b": 1}}, "x"]
    (tmp_path / "frases").mkdir()
    file = tmp_path / "frases" / "task.json"
    file.write_text(json.dumps({"name": "frases", "examples": examples + odd}))
    loaded = load(file)
    assert [(item.texts, item.gold) for item in loaded.items] == [
        (item.texts, item.gold) for item in EXPECTED
    ]
    assert loaded.items[0].id == "frases-1"
    first, _, last = range(len(examples) + 1, len(examples + odd) + 1)
    left_out = [note for note in loaded.notes if "example left out" in note]
    assert len(left_out) == 2  # of three examples, since two have the same problem
    assert f"each of rows {first}, {last}: no input with target_scores" in left_out[0]


@pytest.mark.parametrize(
    ("parts", "worded"),
    [
        (
            {"example_input_prefix": "Phrase: ", "append_choices_to_input": False},
            "Phrase: Red tape\nA:",
        ),
        (
            {"task_prefix": "Pick one. ", "example_output_prefix": "\nMeaning: "},
            "Pick one. \nQ: Red tape\n  choice: rules\n  choice: a ribbon\nMeaning:",
        ),
        ({"choice_prefix": "\n- "}, "Q: Red tape\n- rules\n- a ribbon\nA:"),
    ],
)
def test_the_prompt_of_big_bench_is_worded_as_its_file_says(
    parts: dict[str, Any], worded: str, tmp_path: Path
) -> None:
    example = {"input": "Red tape", "target_scores": {"rules": 1, "a ribbon": 0}}
    file = tmp_path / "task.json"
    file.write_text(json.dumps({"examples": [example], **parts}))
    (item,) = load(file).items
    assert item.context == worded
    assert item.options == ("rules", "a ribbon")
    assert item.cut, "no period or capital letter is added"


@pytest.mark.parametrize("part", [{"task_prefix": 3}, {"append_choices_to_input": "no"}])
def test_a_part_of_a_prompt_of_another_type_is_one_line(part: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps({"examples": [], **part}))
    with pytest.raises(FiglangError, match=f"{next(iter(part))} is .*; write "):
        load(file)
