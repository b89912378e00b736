"""The table of results: what stands in its columns, and what its notes say."""

import csv
import json
from pathlib import Path

from figlang.runs import answered
from figlang.types import Split
from tests.report_runs import report, run


def test_accuracy_on_clean_items_stands_beside_the_whole(tmp_path: Path, sample: Split) -> None:
    searched, plain = (tmp_path / name for name in ("searched", "plain"))
    run(searched, sample, 4)
    run(plain, sample, 3, prompt="x")
    # Every item that is wrong shares text with a training item, so all clean ones are right.
    rows = answered.read(searched).forward
    touched = {row.id: "train-1" for row in rows[::4]}
    path = searched / "metrics.json"
    content = json.loads(path.read_text())
    clean = answered.read(searched).clean({"touched": touched, "training_items": 560, "stages": 1})
    path.write_text(json.dumps(content | {"clean": clean}))
    page = report(tmp_path / "out", str(searched), str(plain))
    assert f"without {len(touched)} that share text with the 560 training items" in page
    table = (tmp_path / "out" / "tables" / "summary.csv").read_text().splitlines()
    with_search, without = list(csv.DictReader(table))[:2]
    assert float(with_search["accuracy, clean items"]) == 1.0
    assert without["accuracy, clean items"] == ""


def test_what_is_true_of_several_systems_is_said_once(tmp_path: Path, sample: Split) -> None:
    for name, every in (("a", 4), ("b", 3), ("c", 5)):
        run(tmp_path / name, sample, every, prompt=name)
    unknown = {"tokens": 9, "items": 1, "scripts": [], "words": []}

    def said(numbers: dict[str, int]) -> list[str]:
        for name, number in numbers.items():
            path = tmp_path / name / "metrics.json"
            content = json.loads(path.read_text()) | {"unknown_tokens": {**unknown, "unknown": number}}
            path.write_text(json.dumps(content))
        report(tmp_path / "out", *(str(tmp_path / name) for name in numbers))
        notes = (tmp_path / "out" / "tables" / "summary.md").read_text().splitlines()
        return [line for line in notes if "The tokenizer does not know" in line]

    rest = "The tokenizer does not know {} of 9 tokens, in 1 item."
    assert said({"a": 1, "b": 1, "c": 1}) == [f"All systems: {rest.format(1)}"]
    assert said({"a": 1, "b": 2, "c": 1}) == [
        f"tiny, a; tiny, c: {rest.format(1)}",
        f"tiny, b: {rest.format(2)}",
    ]
