"""The options of a verb as Hydra finds them: given once, and not copied for every composition."""

from copy import deepcopy
from dataclasses import replace
from unittest.mock import patch

import pytest
from hydra.core.config_store import ConfigStore

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.config.roots import ROOTS, chosen

DEFAULT = ["trainer=cpu"]


@pytest.fixture(scope="module", autouse=True)
def _presets() -> None:
    """Each composition is made anew."""


def test_a_composition_changes_nothing_that_the_next_one_finds() -> None:
    first = compose("train", TrainConfig, DEFAULT)
    words = ["method.lr=0.5", "peft=lora", "peft.target_modules=[query]", "hydra.job.chdir=true"]
    between = compose("train", TrainConfig, [*DEFAULT, *words])
    assert (between.method.lr, between.peft.target_modules) == (0.5, ["query"])
    assert compose("train", TrainConfig, DEFAULT) == first


def test_hydra_does_not_copy_its_store() -> None:
    store = ConfigStore.instance()
    assert deepcopy([store])[0] is store
    name, _ = chosen("compare", [])
    assert store.load(f"{name}.yaml").node is not store.load(f"{name}.yaml").node


def test_a_root_is_given_once_and_again_if_it_is_another() -> None:
    store = ConfigStore.instance()
    name, root = chosen("train", [])
    held = store.repo[f"{name}.yaml"]
    assert chosen("train", [])[1] == root
    assert store.repo[f"{name}.yaml"] is held
    another = replace(root, presets={**root.presets, "peft": "lora"})
    with patch.dict(ROOTS, {"train": another}):  # type: ignore[arg-type]
        assert compose("train", TrainConfig, DEFAULT).peft.name == "lora"
    assert compose("train", TrainConfig, DEFAULT).peft.name == "none"
