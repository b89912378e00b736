"""Training from teachers, as a user types it: two halves of the items, each scored by the model of the
other."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.running import Ended, run, train

COMMON = ["data.limit=60", "method.format=dual", "method.batch_size=4"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two teachers, each with results on the half that it has not seen."""
    folder = tmp_path_factory.mktemp("distilled")
    for fold in ("1/2", "2/2"):
        name = f"half{fold[0]}"
        ended = train(folder, f"run=runs/{name}/seed0", f"data.fold={fold}", *COMMON)
        assert ended.returncode == 0, ended.stderr
        words = [f"checkpoint=runs/{name}/seed0", f"data.fold={fold}", "data=figqa_sample", "data.limit=60"]
        ended = run(folder, "evaluate.py", *words, "split=train", f"output=scores/{name}", "blind=false")
        assert ended.returncode == 0, ended.stderr
    return folder


def student(home: Path, name: str, *words: str) -> Ended:
    return train(home, f"run=runs/{name}/seed0", "method.epochs=2", *COMMON, *words)


def weights(home: Path, name: str) -> dict[str, torch.Tensor]:
    return load_file(home / "runs" / name / "seed0" / "model" / "model.safetensors")


def equal(home: Path, one: str, other: str) -> bool:
    ours, theirs = weights(home, one), weights(home, other)
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_teachers_change_what_is_learnt_in_any_order_and_not_at_weight_zero(home: Path) -> None:
    both = "scores/half1,scores/half2"
    runs = {
        "plain": [],
        "both": [f"method.teacher={both}", "method.teacher_weight=0.8"],
        "turned": ["method.teacher=[scores/half2,scores/half1]", "method.teacher_weight=0.8"],
        "idle": [f"method.teacher={both}", "method.teacher_weight=0"],
    }
    for name, words in runs.items():
        ended = student(home, name, *words)
        assert ended.returncode == 0, ended.stderr
        said = "training items have a teacher" in ended.stderr
        assert said is (name != "plain")
        if said:
            assert "all " in next(line for line in ended.stderr.splitlines() if "have a teacher" in line)
    assert equal(home, "both", "turned")
    assert equal(home, "plain", "idle")
    assert not equal(home, "plain", "both")
    recipes = {
        name: json.loads((home / "runs" / name / "seed0" / "recipe.json").read_text()) for name in runs
    }
    assert recipes["both"] == recipes["turned"]
    assert len(recipes["both"]["settings"]["method"]["teacher"]) == 2
    assert "teacher" not in recipes["plain"]["settings"]["method"]

    documents = {
        name: json.loads((home / "runs" / name / "seed0" / "metrics.json").read_text()) for name in runs
    }
    assert all("teachers" not in documents[name] for name in ("plain", "idle"))
    for teacher in documents["both"]["teachers"]:
        fold = teacher["signature"].partition("fold=")[2][:3]
        of = json.loads((home / "scores" / f"half{fold[0]}" / "metrics.json").read_text())
        assert teacher == {key: of[key] for key in ("model", "data_name", "split", "signature", "facts")} | {
            "items": of["data"]["train"]["items"],
            "sha256": of["files"]["predictions.jsonl"],
        }
    card = (home / "runs" / "both" / "seed0" / "model" / "README.md").read_text()
    assert "## Teachers" in card
    assert all(f"fold={fold}/2" in card for fold in (1, 2))
    found = documents["both"]["contamination"]
    assert (
        f"{found['training_items']} training items and {found['teacher_items']} that only its teachers"
        in card
    )
    assert "teachers_unknown" not in found
    assert documents["both"]["clean"]["touched"].keys() >= documents["plain"]["clean"]["touched"].keys()
    assert "teacher" not in (home / "runs" / "plain" / "seed0" / "model" / "README.md").read_text()


def test_one_half_leaves_the_others_to_their_labels(home: Path) -> None:
    ended = student(home, "one", "method.teacher=scores/half1")
    assert ended.returncode == 0, ended.stderr
    assert "training items have a teacher, the others their label alone" in ended.stderr
    ended = student(home, "one", "method.teacher=scores/half2")
    assert ended.returncode == 2
    assert "holds a finished run with other settings (method.teacher: " in ended.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["method.teacher=nowhere"], "method.teacher=nowhere has no predictions.jsonl"),
        (["method.temperature=2"], "method.temperature changes nothing without method.teacher=FOLDER"),
        (["data.fold=3/2"], "data.fold=3/2 must be K/N"),
    ],
)
def test_what_has_no_meaning_is_one_line(tmp_path: Path, words: list[str], error: str) -> None:
    ended = train(tmp_path, *words)
    assert ended.returncode == 2
    assert error in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_fold_of_an_evaluation_is_one_of_training_items(tmp_path: Path) -> None:
    words = ["debug=fast", "data=figqa_sample", "data.fold=1/2"]
    ended = run(tmp_path, "evaluate.py", *words)
    assert ended.returncode == 2
    assert "data.fold= is a part of the training items and this is split=validation" in ended.stderr
