"""The stages of a training are found wherever a command is given, and no other network is taken for one."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.runs import stages
from tests.runs.test_teaching import data, trained

PATHS = PathsConfig()
NOTHING = {"items": 0, "hidden": 0, "ties": 0, "accuracy_by": {}}


def begun(folder: Path, named: str, before: Path) -> Path:
    """A run that began from an earlier one, which was named in this way."""
    run = trained(folder, data(folder.parent, folder.name))
    recipe = json.loads((run / "recipe.json").read_text())
    recipe["settings"]["model"] = {"init": "pretrained", "name_or_path": named}
    recipe["start"] = f"of {before.name}"
    (run / "recipe.json").write_text(json.dumps(recipe))
    return run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A run and one that began from it, by a path that was typed in another folder than the present one."""
    (tmp_path / "project" / "runs").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    settings = data(tmp_path / "project", "first")
    first = trained(tmp_path / "project" / "runs" / "first", settings)
    return first, begun(tmp_path / "project" / "runs" / "second", "runs/first", first)


def test_a_path_that_was_typed_in_another_folder_leads_to_the_stage_before(runs: tuple[Path, Path]) -> None:
    first, second = runs
    (train,) = stages.before(second, PATHS)
    assert train == stages.trained(first, PATHS)
    assert len(stages.known(second, "first>second", PATHS)) == 2


def test_another_network_under_the_same_name_is_not_the_stage_before(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = runs
    (tmp_path / "elsewhere" / "runs").mkdir()
    other = trained(tmp_path / "elsewhere" / "runs" / "first", data(tmp_path / "elsewhere", "other"))
    (other / "model" / "figlang.json").write_text(
        (other / "model" / "figlang.json").read_text().replace("of first", "of another")
    )
    assert stages.before(second, PATHS) == [stages.trained(first, PATHS)]
    shutil.rmtree(first)
    assert stages.before(second, PATHS) == []
    with pytest.raises(FiglangError, match="only the last 1 of these 2 stages are known"):
        stages.known(second, "first>second", PATHS)


def written(run: Path, command: str, **content: object) -> None:
    """The metrics.json of a run, as far as it is read here."""
    document = {"signature": "", "model": "m", "data_name": "d", "split": "validation", "seed": 0}
    document |= {"published_file": False, "metrics": NOTHING, "command": command, **content}
    (run / "metrics.json").write_text(json.dumps(document))


def test_commands_of_the_stages_before_are_read_from_their_records(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = runs
    third = begun(tmp_path / "project" / "runs" / "third", "runs/second", second)
    assert stages.commands(third) == []
    written(second, "train second")
    assert stages.commands(second) == []
    assert stages.commands(third) == [["train second"]]
    # A mean has the commands of its runs, and a multirun is one command.
    written(first, "average", commands=["train -m", "train -m"])
    assert stages.commands(first) == []
    assert stages.commands(third) == [["train -m", "average"], ["train second"]]
    # What a run once recorded stays when the runs before it are gone.
    written(second, "train second", commands_before=[["train first"]])
    shutil.rmtree(first)
    assert stages.commands(third) == [["train first"], ["train second"]]
    (second / "metrics.json").write_text("{")
    assert stages.commands(third) == []


def test_a_mean_has_the_commands_of_all_its_runs_by_stage() -> None:
    one, other = [["a"], ["b"]], [["c", "b"]]
    assert stages.shared([one, other]) == [["a"], ["b", "c"]]
    assert stages.shared([[], []]) == []


def test_a_run_whose_weights_were_deleted_is_still_the_stage_before(runs: tuple[Path, Path]) -> None:
    first, second = runs
    shutil.rmtree(first / "model")
    assert stages.before(second, PATHS) == [stages.trained(first, PATHS)]


def test_a_run_is_not_its_own_stage_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = begun(tmp_path / "same", "same", Path("same"))
    assert stages.before(run, PATHS) == []


def test_runs_of_a_mean_are_found_from_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("on/seed0", "mean", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = stages.averaged(tmp_path / "mean", ["on/seed0", "on/seed1"])
    assert found == [tmp_path / "on" / "seed0", Path("on/seed1")]


def test_a_file_of_ones_own_is_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, run = tmp_path / "project", tmp_path / "project" / "runs" / "first"
    (project / "Eigene Daten").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    rows = "context,a,b,gold\nThe mill slept.,It stood.,It ran.,0\nThe mill sang.,It ran.,It stood.,0\n"
    for name in ("own", "dev"):
        (project / "Eigene Daten" / f"{name}.csv").write_text(rows.replace("mill", name))
    monkeypatch.chdir(project)
    typed = {"file": "Eigene Daten/own.csv", "validation": "Eigene Daten/dev.csv"}
    settings = DataConfig(name="own", dataset="own", **typed)
    trained(run, settings)
    (run / "config.yaml").write_text(json.dumps({"data": asdict(settings), "model": {"init": "tiny"}}))
    recipe = json.loads((run / "recipe.json").read_text())
    del recipe["settings"]["data"]["file"]  # a recipe has the hash of the items in place of the file
    (run / "recipe.json").write_text(json.dumps(recipe))
    for folder in (project, tmp_path / "elsewhere"):
        monkeypatch.chdir(folder)
        train = stages.trained(run, PATHS)
        assert [item.context for item in train.items] == ["The own slept.", "The own sang."]
