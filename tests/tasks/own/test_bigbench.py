"""Task files of BIG-bench are read as they are."""

import json
from pathlib import Path
from typing import Any

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
    assert sum("example left out" in note for note in loaded.notes) == len(odd)
