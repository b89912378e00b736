"""What the tests' own memory of compositions gives: what Hydra composes."""

from pathlib import Path

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.config.presets import CONF
from figlang.config.roots import chosen
from tests import once

WORDS: list[tuple[str, list[str]]] = [
    ("train", []),
    ("report", []),
    ("train", ["model=minilm", "peft=lora", "debug=fast", "seed=3", "+hydra.job.env_set.A=b"]),
    ("train", ["experiment=release_minilm", "method.lr=0.5", "peft.target_modules=[query]"]),
    ("train", ["model=gpt2", "method=lm", "~debug"]),
    ("evaluate", ["model=gpt2", "scoring=pmi", "hydra/job_logging=none", "seed=4"]),
    ("evaluate", ["model=gpt2", "scoring=answer", "seed=5"]),
]


@pytest.fixture(scope="module", autouse=True)
def _presets() -> None:
    """Each composition is made anew."""


def whole(verb: str, words: list[str]) -> str:
    """All that Hydra composes, its own settings too."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        made: DictConfig = hydra.compose(chosen(verb, words)[0], words, return_hydra_config=True)
    return OmegaConf.to_yaml(made)


def test_a_kept_composition_is_the_composition() -> None:
    anew = [whole(*words) for words in WORDS]
    with once.composed():
        for _ in range(2):  # the second time from what was kept
            assert [whole(*words) for words in WORDS] == anew


def test_values_of_one_command_are_not_those_of_the_next() -> None:
    words = ["trainer=cpu", "peft=lora"]
    anew = compose("train", TrainConfig, words)
    with once.composed():
        first = compose("train", TrainConfig, words)
        assert first == anew
        between = compose("train", TrainConfig, [*words, "method.lr=0.5", "peft.target_modules=[key]"])
        assert (between.method.lr, between.peft.target_modules) == (0.5, ["key"])
        assert compose("train", TrainConfig, words) == first


def test_presets_of_a_user_are_read_each_time(tmp_path: Path) -> None:
    words = [f"hydra.searchpath=[{tmp_path}]", "trainer=mine", "data=figqa_sample"]
    (tmp_path / "trainer").mkdir()
    with once.composed():
        for threads in (2, 3):
            (tmp_path / "trainer" / "mine.yaml").write_text(f"threads: {threads}\n")
            assert compose("train", TrainConfig, words).trainer.threads == threads


def test_a_choice_that_is_wrong_is_refused_each_time() -> None:
    with once.composed():
        for _ in range(2):
            with pytest.raises(hydra.errors.HydraException, match="no_such"):
                compose("train", TrainConfig, ["model=no_such"])
