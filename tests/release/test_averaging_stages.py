"""Trainings of two stages: seeds that each began from the same seed of another training are one recipe."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from evaluate import main as evaluate_command
from figlang.commands.average import main as average_command
from figlang.runs import systems
from tests.calls import call
from train import main as train_command


def test_seeds_that_began_from_seeds_of_another_recipe_are_one_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fast = ["debug=fast", "data.limit=8"]
    for seed in (0, 1):
        call(monkeypatch, train_command, *fast, f"seed={seed}", f"run=first/seed{seed}")
        on = [f"model.name_or_path=first/seed{seed}", "model.init=pretrained"]
        call(monkeypatch, train_command, *fast, *on, f"seed={seed}", f"run=second/seed{seed}")
    # This run begins from another seed than its own.
    call(monkeypatch, train_command, *fast, *on, "seed=2", "run=second/seed2")
    call(monkeypatch, average_command, "second/seed0", "second/seed1", "start=0.5", "output=half")
    parts = [f"{stage}/seed{seed}/model" for stage in ("first", "second") for seed in (0, 1)]
    assert json.loads((tmp_path / "half/metrics.json").read_text())["model"] == "first"
    both = systems.pooled(systems.read(["second/seed0", "second/seed1", "half"]))
    assert [pool.name for pool in both] == ["first, 2 seeds", "first, 0.5 × start + 0.5 × mean of 2 seeds"]
    half, *four = (load_file(Path(one) / "model.safetensors") for one in ("half/model", *parts))
    for name in (name for name, value in half.items() if value.is_floating_point()):
        torch.testing.assert_close(half[name], sum(one[name] for one in four) / 4)
    call(monkeypatch, average_command, "second/seed0", "second/seed1", "shares=0.5,0.5", "output=equal")
    read = systems.read([f"second/seed{seed}" for seed in (0, 1, 2)])
    assert [pool.name for pool in systems.pooled(read[:2])] == ["first, 2 seeds"]
    # So are results elsewhere.
    for seed in (0, 1):
        words = [f"checkpoint=second/seed{seed}", f"output=results/{seed}", "data.limit=8"]
        call(monkeypatch, evaluate_command, *words)
    elsewhere = systems.read(["results/0", "results/1"])
    assert [pool.name for pool in systems.pooled(elsewhere)] == ["first, 2 seeds"]
    # Folders may have other names.
    for seed in (0, 1):
        shutil.copytree(f"first/seed{seed}", f"start_{seed}")
        on = [f"model.name_or_path=start_{seed}", "model.init=pretrained"]
        call(monkeypatch, train_command, *fast, *on, f"seed={seed}", f"run=other{seed}")
    others = systems.read(["other0", "other1"])
    assert [pool.name for pool in systems.pooled(others)] == ["start, 2 seeds"]
    # Two seeds from one start are of one recipe, and so are a seed from the same start and these.
    assert [pool.name for pool in systems.pooled(read[1:])] == ["first-seed1, 2 seeds"]
    assert [len(pool.systems) for pool in systems.pooled(read)] == [1, 2]
    # A mean has the recipe of its first run, which is not that of the mean.
    call(
        monkeypatch,
        average_command,
        "first/seed1",
        "first/seed0",
        "shares=0.5,0.5",
        "output=mean/first/seed1",
    )
    on = ["model.name_or_path=mean/first/seed1", "model.init=pretrained"]
    call(monkeypatch, train_command, *fast, *on, "seed=1", "run=mean/second/seed1")
    assert len(systems.pooled(systems.read(["second/seed0", "mean/second/seed1"]))) == 2
    # If the run that one began from is damaged or gone, nobody knows that it had the same recipe.
    both = ["second/seed0", "second/seed1"]
    (tmp_path / "first/seed0/model/figlang.json").write_text("{")
    assert len(systems.pooled(systems.read(both))) == 2
    shutil.rmtree("first/seed0")
    assert len(systems.pooled(systems.read(both))) == 2
