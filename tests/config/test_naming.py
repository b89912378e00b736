"""Names of what a command line asks for: what tells two results apart is in them, what does not is left
out."""

import pytest

from figlang.config import DataConfig, EvaluateConfig, ModelConfig, TrainConfig
from figlang.config.given import Given
from figlang.config.naming import name, name_by_file
from figlang.config.placing import LONGEST
from figlang.errors import FiglangError

PRESET = DataConfig("figqa_medium", "figqa", size="medium")


def train(
    *overrides: str, choices: dict[str, str] | None = None, preset: DataConfig | None = None, **data: object
) -> TrainConfig:
    config = TrainConfig(
        model=ModelConfig(name="minilm", name_or_path="package:somewhere/model"),
        data=DataConfig("figqa_medium", "figqa", **data),  # type: ignore[arg-type]
    )
    name(config, Given(overrides, choices or {}, False), preset)
    return config


def test_a_run_is_named_by_what_changes_it_alone() -> None:
    same = {train("seed=0", "logger=wandb", "trainer.threads=2", "paths.runs=runs").run, train().run}
    assert len(same) == 1
    assert train("method.lr=1e-3").run not in same
    assert train("method.lr=1e-3", "method.epochs=2").run == train("method.epochs=2", "method.lr=1e-3").run


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("mine/train.csv", "mine"),
        ("mine/sayings-train.tsv", "sayings"),
        ("bigbench/similes/task.json", "similes"),
        ("mine/training.csv", "mine"),
        ("mine/dev.csv", "dev"),
        ("mine/trains.csv", "trains"),
        ("mine/rain_train.v2.csv", "rain_train.v2"),
        ("mine/metáforas.csv", "metaforas"),
        ("mine/Redensarten größter Dichter-train.csv", "Redensarten-grosster-Dichter"),
        ("mine/रूपक.csv", "file"),
    ],
)
def test_results_are_not_called_by_the_part_that_was_trained_on(file: str, expected: str) -> None:
    data = DataConfig("figqa_csv", "figqa_csv", file=file)
    name_by_file(data, Given((), {}, False))
    assert data.name == expected


@pytest.mark.parametrize(
    ("hub", "expected"),
    [("org/sayings", "sayings"), ("org/sayings:es", "sayings-es"), ("a/b/frases/", "frases")],
)
def test_a_data_set_of_the_hub_is_called_by_its_name(hub: str, expected: str) -> None:
    data = DataConfig("own", "own", hub=hub)
    name_by_file(data, Given((), {}, False))
    assert data.name == expected
    typed = DataConfig("mine", "own", hub=hub)
    name_by_file(typed, Given(("data.name",), {}, False))
    assert typed.name == "mine"


def test_overrides_that_lose_their_signs_or_their_end_are_told_apart() -> None:
    runs = {train(f"method.text={sign}").run for sign in ("a b", "a,b", "a/b")}
    assert len(runs) == 3
    long = {train(f"prompt.suffix={'x' * LONGEST}{end}").run for end in "yz"}
    assert len(long) == 2
    assert max(map(len, long)) < 2 * LONGEST


@pytest.mark.parametrize(("size", "expected"), [("medium", "figqa_medium"), ("large", "figqa_medium-large")])
def test_another_size_than_the_preset_s_is_in_the_name_of_the_data(size: str, expected: str) -> None:
    assert train(f"data.size={size}", preset=PRESET, size=size).data.name == expected


def test_samples_are_not_called_by_the_name_of_the_data() -> None:
    root = "package:figlang/samples"
    assert train(choices={"debug": "fast"}, root=root).data.name == "figqa_medium_sample"
    assert train(root=root).data.name == "figqa_medium"


@pytest.mark.parametrize(
    ("words", "dataset", "expected"),
    [
        (("paths.tasks=idioms", "data.dataset=idioms"), "idioms", "idioms"),
        (("data.dataset=idioms",), "idioms", "idioms"),  # of an installed package
        ((), "idioms", "figqa_sized"),  # by a preset of the user's own
        (("data.dataset=miqa",), "miqa", "miqa_sample"),
        (("paths.tasks=idioms", "data.dataset=miqa"), "miqa", "miqa_sample"),
    ],
)
def test_a_benchmark_outside_of_figlang_has_its_own_name_and_no_samples(
    words: tuple[str, ...], dataset: str, expected: str
) -> None:
    config = TrainConfig(
        model=ModelConfig(name="minilm", name_or_path="package:somewhere/model"),
        data=DataConfig("figqa_sized", dataset, root="package:figlang/samples"),
    )
    name(config, Given(words, {"debug": "fast"}, False), None)
    assert config.data.name == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [("runs/a/seed3/model", "a-seed3"), ("org/other", "other"), ("folder/other/model", "other")],
)
def test_another_source_gives_the_model_its_name(source: str, expected: str) -> None:
    config = TrainConfig(
        model=ModelConfig(name="minilm", name_or_path=source), data=DataConfig("figqa_medium", "figqa")
    )
    name(config, Given((f"model.name_or_path={source}",), {}, False), None)
    assert config.model.name == expected


@pytest.mark.parametrize("typed", ["model=gpt2", "method.lr=1", "trainer.devices=2"])
def test_what_changes_no_evaluation_is_refused(typed: str) -> None:
    config = EvaluateConfig(
        model=ModelConfig(name="minilm", name_or_path="somewhere"),
        data=DataConfig("figqa_medium", "figqa"),
        checkpoint="runs/a/seed0",
    )
    with pytest.raises(FiglangError, match=typed.split("=")[0]):
        name(config, Given((typed,), {}, False), None)


@pytest.mark.parametrize("launcher", ["submitit_slurm", "basic"])
def test_a_multirun_starts_processes_by_slurm_only(launcher: str) -> None:
    config = TrainConfig(
        model=ModelConfig(name="minilm", name_or_path="somewhere"), data=DataConfig("figqa_medium", "figqa")
    )
    config.trainer.devices = "2"
    typed = Given((), {"hydra/launcher": launcher}, True)
    if launcher == "basic":
        with pytest.raises(FiglangError, match=r"needs trainer\.devices=1"):
            name(config, typed, None)
    else:
        name(config, typed, None)
        assert config.skip_finished
