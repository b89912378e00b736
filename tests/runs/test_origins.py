"""The training behind results is found wherever they stand, so that seeds of one recipe are one system."""

import json
from pathlib import Path

import pytest

from figlang.runs import origins, systems
from tests.runs.test_teaching import data, scored, trained


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two seeds of one recipe, the results of one within its run and those of the other elsewhere."""
    monkeypatch.chdir(tmp_path)
    settings = data(tmp_path, "mine")
    for seed in (0, 1):
        run = trained(tmp_path / "runs" / f"seed{seed}", settings)
        recipe = json.loads((run / "recipe.json").read_text())
        (run / "recipe.json").write_text(
            json.dumps(recipe | {"settings": {**recipe["settings"], "seed": seed}})
        )
        place = run / "evaluations" / "mine" if seed == 0 else tmp_path / "elsewhere"
        facts = {"trained": f"mine@of {run.name}", "train_seed": seed, "model": "m"}
        scored(place, run, settings, facts=facts, command=f"figlang evaluate checkpoint=runs/seed{seed}")
    return tmp_path


def pools(project: Path) -> list[int]:
    folders = [str(project / "runs" / "seed0" / "evaluations" / "mine"), str(project / "elsewhere")]
    return [len(pool.systems) for pool in systems.pooled(systems.read(folders))]


def test_seeds_of_one_recipe_are_one_system_in_any_folders(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pools(project) == [2]
    (project / "other").mkdir()
    monkeypatch.chdir(project / "other")  # the checkpoint was typed in another folder
    assert pools(project) == [2]


def test_another_run_under_the_same_name_is_not_the_training(project: Path) -> None:
    manifest = project / "runs" / "seed1" / "model" / "figlang.json"
    manifest.write_text(manifest.read_text().replace("of seed1", "of another"))
    assert pools(project) == [1, 1]
    manifest.unlink()
    assert pools(project) == [1, 1]
    content = {"facts": {"trained": "mine@of seed0"}, "command": "figlang evaluate model=minilm"}
    assert origins.behind(project / "elsewhere", content) is None
    assert origins.behind(project / "elsewhere", {**content, "command": "figlang 'evaluate"}) is None
    # A multirun is one command for all its checkpoints.
    several = {**content, "command": "figlang evaluate -m checkpoint=runs/seed1,runs/seed0"}
    run = origins.behind(project / "elsewhere", several) or project
    assert run.name == "seed0"
