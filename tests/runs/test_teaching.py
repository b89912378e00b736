"""What teachers were trained on is found, and text of it in evaluated items counts as contamination."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.evaluation import cleanness
from figlang.files.sources import sha256
from figlang.models import manifest as manifests
from figlang.models.manifest import Manifest
from figlang.runs import results, teaching
from figlang.runs.predictions import FORWARD, write_predictions
from figlang.tasks.registry import for_training, load
from figlang.types import Prediction

PATHS = PathsConfig()
LEAKED = "The old mill was a sleeping giant beside the slow brown river"


def data(folder: Path, name: str, *more: str) -> DataConfig:
    """A data set of own files. `more` are metaphors that only this training file has."""
    rows = [f"metaphor {n} of {name} was like a thing,x{n // 2},y{n // 2},{n % 2}" for n in range(8)]
    rows += [f"{text},{name}{n},other {name}{n},0" for n, text in enumerate(more)]
    header = "startphrase,ending1,ending2,labels"
    (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    (folder / "dev.csv").write_text(f"{header}\n{LEAKED},p,q,0\nThe new mill hummed like bees,p,q,1\n")
    files = {"train": str(folder / f"{name}.csv"), "validation": str(folder / "dev.csv")}
    return DataConfig(name=name, dataset="figqa_csv", **files, drop_near_duplicates=False)


def trained(run: Path, settings: DataConfig) -> Path:
    """A run, as far as it is read here."""
    train, validation = for_training(settings, PATHS)
    recipe: dict[str, Any] = {
        "settings": {"data": asdict(settings), "model": {"init": "tiny"}, "seed": 0},
        "data": {"train": train.sha256, "validation": validation.sha256},
    }
    (run / "model").mkdir(parents=True)
    (run / "recipe.json").write_text(json.dumps(recipe))
    shown = Manifest(
        "m", "b", "contrastive", "pair", "clean", 80, 20.0, 2, settings.name, f"of {run.name}", 0
    )
    manifests.write(run / "model", shown)
    return run


def scored(folder: Path, run: Path, settings: DataConfig, scale: float = 1.0, **content: Any) -> str:
    """Results of a run on training items."""
    items = load("train", settings, PATHS)
    folder.mkdir(parents=True)
    write_predictions(folder / FORWARD, [Prediction.of(item, (scale, 0.0)) for item in items.items])
    facts = {"trained": f"{run.name}@of {run.name}"}
    found = results.Evaluated(run.name, facts, items, "train", settings.name, 0).document(folder)
    about = {"data": results.about_data(settings, {"train": items}, ())}
    results.write(folder / "metrics.json", found | about | content)
    return str(folder)


def student(folder: Path, settings: DataConfig, *teachers: str) -> Path:
    """A run that learnt from teachers."""
    run = trained(folder, settings)
    recipe = json.loads((run / "recipe.json").read_text())
    recipe["settings"]["method"] = {"teacher": [sha256(Path(one) / FORWARD)[:16] for one in teachers]}
    (run / "recipe.json").write_text(json.dumps(recipe))
    (run / "config.yaml").write_text(json.dumps({"method": {"teacher": list(teachers)}}))
    return run


def test_text_that_only_a_teacher_was_trained_on_is_found(tmp_path: Path) -> None:
    own, theirs = data(tmp_path, "own"), data(tmp_path, "theirs", LEAKED)
    teacher = trained(tmp_path / "theirs", theirs)
    train, validation = for_training(own, PATHS)
    wanted = [("own", "validation", validation)]
    without = cleanness.search(train, wanted, (), None)
    assert without["evaluated"][0]["context"] == {}
    assert "teacher_items" not in without
    for place in (tmp_path / "theirs" / "evaluations" / "x", tmp_path / "elsewhere"):
        command = {"command": f"figlang evaluate checkpoint={teacher} data=own"}
        taught = teaching.by([scored(place, teacher, own, **command)], PATHS)
        assert (taught.unknown, [split.name for split in taught.splits]) == ((), ["theirs"])
        found = cleanness.search(train, wanted, (), taught)
        assert len(found["evaluated"][0]["context"]) == 1
        assert found["teacher_items"] == 9
        assert found["training_items"] == 8
        assert len(cleanness.of_overlaps(found, validation)["touched"]) == 1


def test_damaged_settings_of_a_run_are_named(tmp_path: Path) -> None:
    run = student(tmp_path / "own", data(tmp_path, "own"))
    (run / "config.yaml").write_text("method: [")
    with pytest.raises(FiglangError, match=r"own/config.yaml cannot be read"):
        teaching.of_run(run, PATHS)


def test_a_teacher_of_the_same_items_adds_none(tmp_path: Path) -> None:
    own = data(tmp_path, "own")
    train, validation = for_training(own, PATHS)
    taught = teaching.by([scored(tmp_path / "a" / "e" / "x", trained(tmp_path / "a", own), own)], PATHS)
    found = cleanness.search(train, [("own", "validation", validation)], (), taught)
    assert found["teacher_items"] == 0


@pytest.mark.parametrize("kind", ["gone", "trained again", "data changed"])
def test_what_is_not_known_is_said_and_nothing_is_called_clean(tmp_path: Path, kind: str) -> None:
    own, theirs = data(tmp_path, "own"), data(tmp_path, "theirs")
    run = trained(tmp_path / "theirs", theirs)
    folder = scored(run / "evaluations" / "x", run, own)
    if kind == "gone":
        shutil.copytree(folder, tmp_path / "kept")
        folder = str(tmp_path / "kept")
        shutil.rmtree(run)
    elif kind == "trained again":
        shown = manifests.read(str(run / "model"), str(run), None)
        manifests.write(run / "model", Manifest(**{**asdict(shown), "settings": "others"}))
    else:
        data(tmp_path, "theirs", LEAKED)
    taught = teaching.by([folder], PATHS)
    assert (taught.splits, taught.unknown) == ((), ("theirs",))
    train, validation = for_training(own, PATHS)
    found = cleanness.search(train, [("own", "validation", validation)], (), taught)
    assert found["teachers_unknown"] == ["theirs"]
    assert cleanness.of_overlaps(found, validation) == {}


def test_an_untrained_teacher_and_the_members_of_a_combination(tmp_path: Path) -> None:
    own, theirs = data(tmp_path, "own"), data(tmp_path, "theirs")
    run = trained(tmp_path / "theirs", theirs)
    member = scored(run / "evaluations" / "x", run, own)
    plain = scored(tmp_path / "plain", run, own, scale=2.0, facts={"trained": "nothing@none"})
    folders = {"one": member, "two": plain, "gone": str(tmp_path / "gone")}
    members = [
        {
            "model": name,
            "folder": folder,
            "sha256": sha256(Path(folder if name != "gone" else plain) / FORWARD),
        }
        for name, folder in folders.items()
    ]
    both = {"members": members}
    combined = tmp_path / "combined"
    shutil.copytree(member, combined)
    content = json.loads((combined / "metrics.json").read_text())
    (combined / "metrics.json").write_text(json.dumps(content | both))
    assert teaching.by([plain], PATHS) == teaching.Taught()
    taught = teaching.by([str(combined)], PATHS)
    assert ([split.name for split in taught.splits], taught.unknown) == (["theirs"], ("gone",))


def test_folders_that_were_typed_in_the_project_folder_are_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, theirs = data(tmp_path, "own"), data(tmp_path, "theirs")
    teacher = trained(tmp_path / "runs" / "theirs", theirs)
    scored(
        tmp_path / "scores" / "x", teacher, own, command="figlang evaluate checkpoint=runs/theirs data=own"
    )
    with monkeypatch.context() as there:
        there.chdir(tmp_path)
        run = student(tmp_path / "runs" / "own", own, "scores/x")
    taught = teaching.of_run(run, PATHS)
    assert ([split.name for split in taught.splits], taught.unknown) == (["theirs"], ())


def test_a_mean_of_runs_has_their_teachers(tmp_path: Path) -> None:
    own, theirs = data(tmp_path, "own"), data(tmp_path, "theirs")
    teacher = trained(tmp_path / "theirs", theirs)
    folder = scored(teacher / "evaluations" / "x", teacher, own)
    run = student(tmp_path / "own", own, folder)
    mean = tmp_path / "mean"
    mean.mkdir()
    content = {"averaged": [str(run)], "teachers": [{"sha256": sha256(Path(folder) / FORWARD), "model": "m"}]}
    (mean / "metrics.json").write_text(json.dumps(content))
    taught = teaching.of_run(mean, PATHS)
    assert ([split.name for split in taught.splits], taught.unknown) == (["theirs"], ())


def test_the_teachers_of_a_run_and_of_its_teachers(tmp_path: Path) -> None:
    own, theirs, first = data(tmp_path, "own"), data(tmp_path, "theirs"), data(tmp_path, "first")
    source = trained(tmp_path / "first", first)
    middle = student(tmp_path / "theirs", theirs, scored(source / "evaluations" / "x", source, theirs))
    folder = scored(middle / "evaluations" / "x", middle, own)
    run = student(tmp_path / "own", own, folder)
    taught = teaching.of_run(run, PATHS)
    assert (sorted(split.name for split in taught.splits), taught.unknown) == (["first", "theirs"], ())
    assert teaching.hashes(source) == {}
    assert teaching.of_run(source, PATHS) == teaching.Taught()
    scored(tmp_path / "other", middle, own, scale=3.0)
    shutil.copy(tmp_path / "other" / FORWARD, Path(folder) / FORWARD)
    assert teaching.of_run(run, PATHS).unknown == ("a teacher",), "the folder holds another teacher now"
