"""Predictions from Python: made from records, saved and read back."""

import json
from pathlib import Path
from typing import Any

import pytest

import figlang
from figlang.errors import FiglangError
from tests.api.rows import predictions
from tests.conftest import ROOT
from tests.running import TINY, run


def test_predictions_come_back_from_lists_pandas_and_datasets() -> None:
    made = predictions(3, "a")
    assert list(figlang.Predictions.from_list(made.to_list())) == list(made)
    assert list(figlang.Predictions.from_pandas(made.to_pandas())) == list(made)
    assert list(figlang.Predictions.from_datasets(made.to_datasets())) == list(made)
    frame = made.to_pandas()
    assert float(frame["correct"].mean()) == figlang.measure(made).accuracy.value  # type: ignore[union-attr]
    assert made.ids == list(frame["id"])
    assert made.choices == list(frame["choice"])
    items = figlang.load("miqa_sample", limit=6)
    found = figlang.open_model("smollm2", init="tiny").predict(items, prompt="miqa_qa")
    assert list(figlang.Predictions.from_pandas(found.to_pandas())) == list(found)


def test_hidden_labels_and_ties_survive_pandas() -> None:
    rows = [{"id": "a", "scores": [1, 1], "gold": 0}, {"id": "b", "scores": [1, 2]}]
    frame = figlang.Predictions.from_list(rows).to_pandas()
    first, second = figlang.Predictions.from_pandas(frame)
    assert (first.choice, first.gold, second.choice, second.gold) == (None, 0, 1, None)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"scores": [1, 2]}, "record 1 has no id"),
        ({"id": "a", "scores": [1, 2]}, "record 1: the id a is that of an earlier one"),
        ({"id": "b", "scores": "12"}, "record 1: scores must be a list"),
        ({"id": "b", "scores": [1, "x"]}, "record 1: a score is not a number"),
        ({"id": "b", "scores": [1, 2], "gold": 2}, "record 1: gold=2 is not a place among 2 options"),
    ],
)
def test_a_wrong_record_is_named_in_one_line(record: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError) as caught:
        figlang.Predictions.from_list([{"id": "a", "scores": [1, 2]}, record])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_saved_predictions_are_an_evaluation(tmp_path: Path) -> None:
    items = figlang.load("figqa_sample", limit=4)
    found = figlang.open_model("minilm", init="tiny").predict(items)
    folder = found.save(tmp_path / "result")
    content = json.loads((folder / "metrics.json").read_text())
    assert content["signature"] == found.signature
    again = figlang.Predictions.read(folder)
    assert (list(again), list(again.blind or ())) == (list(found), list(found.blind or ()))
    assert again.document["metrics"] == found.document["metrics"]
    own = predictions(2, "mine")
    file = own.save(tmp_path / "own")
    assert file == tmp_path / "own" / "mine.jsonl"
    assert figlang.Predictions.read(file).name == "mine"
    with pytest.raises(FiglangError, match="is there already"):
        own.save(tmp_path / "own")


def test_predictions_of_a_checkpoint_are_compared_and_saved(tmp_path: Path) -> None:
    paths = [str(ROOT / "checkpoints" / name) for name in ("mpnet-figqa-large", "minilm-figqa-large")]
    first, second = map(figlang.Predictions.read, paths)
    assert figlang.compare(first, second).difference == figlang.compare(*paths).difference
    saved = first.save(tmp_path / "saved")
    assert first.save(tmp_path / "saved") == saved
    with pytest.raises(FiglangError, match="finished result with other settings"):
        second.save(tmp_path / "saved")


def test_predictions_are_named_where_they_are_made_and_in_a_comparison() -> None:
    items = figlang.load("figqa_sample", limit=6)
    model = figlang.open_model("minilm", init="tiny")
    first, second = model.predict(items, name="first"), model.predict(items, name="second")
    assert figlang.compare(first, second).names == ("first", "second")
    assert figlang.compare(first, second, rename={"first": "one"}).names == ("one", "second")
    with pytest.raises(FiglangError, match="no system is called third"):
        figlang.compare(first, second, rename={"third": "x"})
    with pytest.raises(FiglangError, match="give two systems or more"):
        figlang.compare(first)


def test_fields_of_an_item_are_not_attributes_of_its_prediction() -> None:
    row = {"id": "a", "context": "x", "options": ["y", "z"], "scores": [1, 2], "gold": 1, "kind": "k"}
    (made,) = figlang.Predictions.from_list([row])
    assert made.attributes == {"kind": ("k",)}


def test_runs_that_were_read_are_those_of_their_folders(tmp_path: Path) -> None:
    """They could not be compared or saved, since a run is not decided by the settings of an evaluation."""
    words = [*TINY, "model=minilm", "data=figqa_sample", "data.limit=8"]
    for seed in range(2):
        ended = run(tmp_path, "train.py", *words, f"run=runs/mine/seed{seed}", f"seed={seed}")
        assert ended.returncode == 0, ended.stderr
    folders = [tmp_path / "runs" / "mine" / f"seed{seed}" for seed in range(2)]
    base = figlang.open_model("minilm", init="tiny").predict(figlang.load("figqa_sample", limit=8))
    read = [figlang.Predictions.read(folder) for folder in folders]
    found = figlang.compare(*read, base)
    assert len(found.names) == 2, "the two seeds are one system"
    assert found.pairs == figlang.compare(*folders, base).pairs
    kept = read[0].save(tmp_path / "kept")
    assert read[0].save(kept) == kept, "the same result again"
    assert figlang.measure(kept).accuracy == figlang.measure(folders[0]).accuracy
    with pytest.raises(FiglangError, match="holds a finished result with other settings"):
        read[1].save(kept)
    (folders[0] / "metrics.json").write_bytes((folders[1] / "metrics.json").read_bytes())
    assert read[0].source is None, "another result lies there by now"
    assert read[1].source == folders[1]


def test_a_group_of_more_items_than_options_is_not_a_pair_unless_it_is_said() -> None:
    """Four items about one idiom counted as a pair, which is right if all four are."""
    rows = [{"id": str(n), "group": "idiom", "gold": n % 2, "scores": [n % 2, 1]} for n in range(4)]
    assert not any(row.paired for row in figlang.Predictions.from_list(rows))
    assert all(row.paired for row in figlang.Predictions.from_list(rows[:2]))
    assert all(row.paired for row in figlang.Predictions.from_list([row | {"paired": True} for row in rows]))
