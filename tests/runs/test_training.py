"""What identifies a run: everything that may change its numbers, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from figlang.config import DataConfig, PathsConfig, TrainConfig, TrainerConfig
from figlang.evaluation.runtime import settled
from figlang.runs.training import recipe
from figlang.tasks.registry import for_training

HEADER = "startphrase,ending1,ending2,labels\n"


@pytest.fixture
def own(tmp_path: Path) -> TrainConfig:
    """A training on files of one's own, none of whose metaphors is in the test file."""
    (tmp_path / "train.csv").write_text(HEADER + "a,x,y,0\nb,x,y,1\nc,v,w,0\nd,v,w,1\n")
    (tmp_path / "validation.csv").write_text(HEADER + "e,p,q,0\nf,p,q,1\n")
    (tmp_path / "test.csv").write_text(HEADER + "g,r,s,-1\nh,r,s,-1\n")
    files = {name: str(tmp_path / f"{name}.csv") for name in ("train", "validation", "test")}
    return TrainConfig(DataConfig(name="own", dataset="figqa_csv", **files))


def test_it_is_the_items_that_are_trained_on(own: TrainConfig, tmp_path: Path) -> None:
    before = recipe(own, *for_training(own.data, PathsConfig()))
    assert recipe(own, *for_training(own.data, PathsConfig())) == before
    (tmp_path / "test.csv").write_text(HEADER + "g,r,s,-1\nd,r,s,-1\n")
    after = recipe(own, *for_training(own.data, PathsConfig()))
    assert after["data"]["train"] == before["data"]["train"], "the file is the same"
    assert after["data"]["items"]["train"] != before["data"]["items"]["train"]
    assert after["data"]["items"]["validation"] == before["data"]["items"]["validation"]


@pytest.mark.parametrize(("able", "precision"), [({"amx_bf16": True}, "bf16-mixed"), ({}, "32-true")])
def test_it_is_the_precision_that_the_machine_takes(
    own: TrainConfig, monkeypatch: pytest.MonkeyPatch, able: dict[str, bool], precision: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    given = replace(own, trainer=TrainerConfig(accelerator="cpu"))
    assert settled(given).trainer.precision == precision
    chosen = replace(own, trainer=TrainerConfig(accelerator="cpu", precision="16-mixed"))
    assert settled(chosen) == chosen


def test_it_is_not_where_it_lies_or_what_it_shows(own: TrainConfig) -> None:
    splits = for_training(own.data, PathsConfig())
    other = replace(
        own,
        run="elsewhere",
        overwrite=True,
        also=["figqa_medium"],
        trainer=replace(own.trainer, progress=False),
    )
    assert recipe(other, *splits) == recipe(own, *splits)
    assert recipe(replace(own, seed=1), *splits) != recipe(own, *splits)
