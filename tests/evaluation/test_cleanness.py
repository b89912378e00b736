"""The accuracy on the items that share no text with the training items, beside that on all items."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import figlang
from figlang.config import PathsConfig
from figlang.errors import FiglangError
from figlang.evaluation import cleanness
from figlang.runs import recomputed, stages
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.statistics import metrics
from tests.documents import metrics_of
from tests.running import run, train

SAMPLES = Path(figlang.__file__).parent / "samples"
EVALUATED = [
    ("The road to the old mill was a long grey snake", "The road was a ruler on a map"),
    ("My grandmother's kitchen was a warm harbour in winter", "Her kitchen was a railway station"),
    ("The new clerk worked like a clock that was never wound", "The clerk worked like a steam engine"),
    ("His apology landed like a stone in a dry well", "His apology was rain after a drought"),
]
# Each stage of training has a metaphor that is nearly one of these.
SHARED = {"first": 0, "second": 2}


def write(path: Path, pairs: list[tuple[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("startphrase", "ending1", "ending2", "labels"))
        for number, (text, other) in enumerate(pairs):
            endings = (f"It was good, {path.stem} {number}.", f"It was bad, {path.stem} {number}.")
            writer.writerows([(text, *endings, 0), (other, *endings, 1)])


def data(folder: Path, name: str) -> list[str]:
    files = (f"data.train={folder}/{name}.csv", f"data.validation={folder}/dev.csv")
    return ["data=figqa_csv", *files]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of two stages."""
    folder = tmp_path_factory.mktemp("stages")
    write(folder / "dev.csv", EVALUATED)
    for name, place in SHARED.items():
        own = [
            (f"{word} was the {name} stone on my back", f"{word} was the {name} feather")
            for word in ("Sorrow", "Work", "Debt", "Silence")
        ]
        write(folder / f"{name}.csv", [(f"{EVALUATED[place][0]} today", "A sight of {name}"), *own])
    started = ["model.init=pretrained", f"model.name_or_path={folder}/runs/first"]
    for name, start in (("first", []), ("second", started)):
        ended = train(
            folder, *data(folder, name), "data.drop_near_duplicates=false", f"run=runs/{name}", *start
        )
        assert ended.returncode == 0, ended.stderr
    return folder


def evaluate(home: Path, checkpoint: Path, output: Path, *words: str) -> tuple[dict[str, Any], str]:
    ended = run(
        home,
        "evaluate.py",
        f"checkpoint={checkpoint}",
        *data(home, "second"),
        f"output={output}",
        "trainer=cpu",
        "trainer.progress=false",
        *words,
    )
    assert ended.returncode == 0, ended.stderr
    return metrics_of(output), ended.stdout + ended.stderr


def touched(content: dict[str, Any], home: Path) -> set[str]:
    rows = read_predictions(home / "runs" / "second" / FORWARD)
    assert set(content["clean"]["touched"]) <= {row.id for row in rows}
    return set(content["clean"]["touched"])


def test_a_training_counts_all_its_stages(home: Path) -> None:
    first, second = (metrics_of(home / "runs" / name) for name in SHARED)
    rows = [row.id for row in read_predictions(home / "runs" / "second" / FORWARD)]
    assert touched(first, home) == {rows[0]}
    assert touched(second, home) == {rows[0], rows[4]}
    assert (first["clean"]["stages"], second["clean"]["stages"]) == (1, 2)
    assert second["contamination"]["training_items"] == second["clean"]["training_items"] == 20


def test_evaluate_says_what_is_right_among_the_clean_items(home: Path, tmp_path: Path) -> None:
    content, shown = evaluate(home, home / "runs" / "second", tmp_path / "out")
    rows = read_predictions(tmp_path / "out" / FORWARD)
    clean = metrics.accuracy([row for row in rows if row.id not in touched(content, home)])
    assert clean is not None
    assert clean.n == 6
    assert content["clean"]["accuracy"]["value"] == clean.value
    assert content["clean"]["others"]["n"] == 2
    assert "accuracy, clean items" in shown
    assert "Clean items: without 2 that share text with the 20 training items, of 2 stages." in shown
    # Numbers that are shown again are computed from the predictions, whatever metrics.json says.
    content["clean"]["accuracy"]["value"] = 0.123
    (tmp_path / "out" / "metrics.json").write_text(json.dumps(content))
    again = recomputed.checked(tmp_path / "out" / "metrics.json")
    assert again["clean"]["accuracy"]["value"] == clean.value


def released(home: Path, folder: Path, name: str) -> Path:
    """What a release has of a run: no recipe.json, and the start of the training by another place's name."""
    run_folder, release = home / "runs" / name, folder / name
    shutil.copytree(run_folder / "model", release)
    shutil.copy(run_folder / "metrics.json", release)
    settings = (run_folder / "config.yaml").read_text()
    (release / "config.yaml").write_text(settings.replace(f"{home}/runs/first", "elsewhere/first"))
    content = metrics_of(release)
    del content["contamination"]  # as of an early version, which searched one stage
    (release / "metrics.json").write_text(json.dumps(content))
    return release


def test_released_checkpoints_are_followed_to_those_beside_them(home: Path, tmp_path: Path) -> None:
    second, first = (released(home, tmp_path, name) for name in ("second", "first"))
    content, _ = evaluate(home, second, tmp_path / "out")
    assert content["clean"]["touched"] == metrics_of(home / "runs" / "second")["clean"]["touched"]
    shutil.rmtree(first)
    content, shown = evaluate(home, second, tmp_path / "alone")
    assert "clean" not in content
    assert "no accuracy on clean items: " in shown
    assert "but only the last 1 of these 2 stages are known; put the checkpoint that it began from" in shown
    with pytest.raises(FiglangError, match="only the last 1 of these 2 stages"):
        stages.known(second, "figqa_csv>figqa_csv", PathsConfig())


def test_other_items_are_searched_anew_and_pretrained_models_not_at_all(home: Path, tmp_path: Path) -> None:
    content, _ = evaluate(home, home / "runs" / "second", tmp_path / "few", "data.limit=4")
    assert len(touched(content, home)) == 1
    assert content["clean"]["accuracy"]["n"] == 3
    content, _ = evaluate(home, home / "runs" / "first", tmp_path / "train", "split=train")
    assert "clean" not in content


def test_data_sets_beside_a_training_have_clean_items_too(tmp_path: Path) -> None:
    """The training items are looked for where `paths.data` says, as those of the training itself are."""
    shutil.copytree(SAMPLES, tmp_path / "data")
    words = ("data=figqa_medium", "also=[miqa]", "data.root=null", f"paths.data={tmp_path}/data")
    ended = train(tmp_path, *words, f"run={tmp_path}/run")
    assert ended.returncode == 0, ended.stderr
    beside = metrics_of(tmp_path / "run" / "evaluations" / "miqa-validation")
    trained = metrics_of(tmp_path / "run")
    assert beside["clean"]["training_items"] == trained["clean"]["training_items"] > 0
    assert "no accuracy on clean items" not in ended.stderr


def test_a_mean_has_the_items_that_any_of_its_runs_shares_text_with(monkeypatch: pytest.MonkeyPatch) -> None:
    said: dict[str, dict[str, Any]] = {
        "a": {"stages": 1, "training_items": 8, "touched": {"x": "1"}},
        "b": {"stages": 1, "training_items": 9, "touched": {"y": "2"}},
        "unknown": {},
    }
    monkeypatch.setattr(cleanness, "_kept", lambda run, *_: said[run.name])
    for names, touched in (("ab", {"x": "1", "y": "2"}), ("a", {"x": "1"})):
        runs = [Path(name) for name in names]
        assert cleanness.of_mean(runs, [None] * len(runs), None)["touched"] == touched
    assert cleanness.of_mean([Path("a"), Path("unknown")], [None, None], None) == {}
