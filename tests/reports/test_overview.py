"""The table of results: what stands in its columns, and what its notes say."""

import csv
import json
from pathlib import Path

from figlang.config import PathsConfig
from figlang.runs import answered
from figlang.tasks import registry
from tests.report_runs import SAMPLE, report, run


def test_accuracy_on_clean_items_stands_beside_the_whole(tmp_path: Path) -> None:
    sample = registry.load("validation", SAMPLE, PathsConfig())
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
