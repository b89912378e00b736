"""Settings of data that no data set of a command reads are refused, and those that one reads are not."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

import figlang
from figlang.config import DataConfig, PathsConfig
from figlang.config.composing import data_presets
from figlang.config.presets import CONF
from figlang.errors import FiglangError
from figlang.machine.several import shortly
from figlang.tasks import registry
from figlang.tasks.task import Task
from figlang.tasks.unread import OF_SOME, check
from figlang.types import Split

PRESETS = sorted(path.stem for path in (CONF / "data").glob("*.yaml"))
# Another value of each setting than its default.
OTHER = {
    "size": "large",
    "order": "both",
    "seed": 1,
    "held_out": 1.0,
    "pos": "parts.tsv",
    "tagger": "en_core_web_sm",
    "drop_duplicates": False,
    "drop_near_duplicates": False,
}


def preset(name: str, **settings: object) -> DataConfig:
    return replace(data_presets([name])[0], **settings)  # type: ignore[arg-type]


def test_every_such_setting_has_a_case() -> None:
    assert set(OTHER) == set(OF_SOME) <= {spec.name for spec in fields(DataConfig)}


def test_what_presets_set_is_read_by_their_tasks() -> None:
    for name in PRESETS:
        check([preset(name)])


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("figqa_medium", {"size", "drop_near_duplicates"}),
        ("figqa_csv", {"drop_duplicates", "drop_near_duplicates"}),
        ("own_sample", {"drop_duplicates", "drop_near_duplicates"}),
        ("mabl_sw", {"drop_duplicates", "drop_near_duplicates"}),
        ("impli", {"drop_duplicates", "drop_near_duplicates"}),
        ("winogrande_l", {"size"}),
        ("miqa", set()),
        ("snli", set()),
        ("munch", {"order", "seed", "pos", "tagger"}),
        ("munch_generation", {"pos", "tagger"}),
        ("munch_paraphrase", {"order", "seed", "held_out", "pos", "tagger"}),
        ("nli_mix", set()),
        ("multitask", {"size", "order", "seed", "held_out", "pos", "tagger", "drop_near_duplicates"}),
    ],
)
def test_a_data_set_takes_what_it_reads_and_refuses_the_rest(name: str, read: set[str]) -> None:
    for setting, value in OTHER.items():
        data = preset(name, **{setting: value})
        if setting in read:
            check([data])
        elif value != getattr(preset(name), setting):
            with pytest.raises(FiglangError) as error:
                check([data])
            assert f"data={data.name} has data.{setting}=" in str(error.value)
            assert ", which has no effect: only data." in str(error.value)
            assert "\n" not in str(error.value)


def test_the_error_says_which_questions_and_which_tasks_read_a_setting() -> None:
    with pytest.raises(FiglangError, match=r"data\.held_out=1, .*only data\.question=paraphrase reads it"):
        check([preset("munch_word", held_out=1.0)])
    with pytest.raises(FiglangError, match=r"data\.held_out=1, .*only data\.dataset=munch reads it"):
        check([preset("miqa", held_out=1.0)])
    with pytest.raises(FiglangError, match=r"data\.drop_duplicates=false, which has no effect"):
        check([preset("miqa", drop_duplicates=False)])


def test_the_seed_is_read_by_whatever_is_drawn() -> None:
    check([preset("figqa_medium", seed=1, fold="1/2")])
    check([preset("figqa_medium", seed=1, recombined=3)])
    check([preset("multitask", seed=1)])
    said = r"data\.seed=1, .*only data\.dataset=munch, a mixture, data\.fold and data\.recombined read it"
    with pytest.raises(FiglangError, match=said):
        check([preset("figqa_medium", seed=1)])
    with pytest.raises(
        FiglangError, match=r"only data\.question=both, word, sentence or paraphrase reads it"
    ):
        check([preset("munch_generation", seed=1)])


def test_data_sets_of_one_command_share_their_settings() -> None:
    several = [preset("figqa_large", held_out=1.0), preset("munch_paraphrase", held_out=1.0)]
    check(several)
    with pytest.raises(FiglangError, match=r"data=figqa_large has data\.held_out=1"):
        check(several[:1])
    with shortly():  # another run of the same command may read it
        check(several[:1])


def test_a_search_of_wandb_shares_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_SWEEP_ID", "abc")
    check([preset("miqa", order="both")])


def test_a_benchmark_of_ones_own_that_is_divided_reads_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    class Divided(Task):
        name, divided, sizes = "divided", True, ("medium", "large")

        def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
            raise AssertionError

    monkeypatch.setitem(registry.TASKS, "divided", Divided())
    check([DataConfig("mine", "divided", held_out=1.0, size="large")])
    with pytest.raises(FiglangError, match=r"data\.order=both"):
        check([DataConfig("mine", "divided", order="both")])


def test_python_refuses_them_too(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"data=miqa_sample has data\.order=both, which has no effect"):
        figlang.load("miqa_sample", order="both")
    assert figlang.load("munch_sample", order="both")
