"""Searches over a sweep file's values by Optuna, and the commands that W&B's agent makes of these files."""

import csv
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.config.presets import CONF
from tests.machine.test_faults import at_step
from tests.running import TINY
from tests.sampled import sampled
from train import main as train_command

# peft 0.21 asks transformers 5.23 for it.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
SWEEPS = sorted((CONF / "sweep").glob("*.yaml"))


def search(home: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    pytest.importorskip("optuna", reason="needs figlang[search]")
    words = ["-m", "hydra/sweeper=optuna", *TINY, f"paths.runs={home}/runs", "data.limit=16", *arguments]
    monkeypatch.setattr(sys, "argv", ["train.py", *words])
    train_command()


def trials(home: Path, name: str) -> list[Any]:
    import optuna

    storage = optuna.storages.RDBStorage(f"sqlite:///{home}/runs/search/{name}.db")
    try:
        found: list[Any] = optuna.load_study(study_name=name, storage=storage).get_trials()
        return found
    finally:
        storage.remove_session()
        storage.engine.dispose()


def test_two_trials_of_a_sweep_file_and_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "figlang")
    file = f"hydra.sweeper.file={CONF / 'sweep' / 'lora_rank.yaml'}"
    search(tmp_path, monkeypatch, file, "hydra.sweeper.n_trials=2")
    done = trials(tmp_path, "lora_rank")
    assert len(done) == 2
    for trial in done:
        run = Path(trial.user_attrs["run"])
        settings = json.loads((run / "recipe.json").read_text())["settings"]
        assert settings["peft"]["r"] == trial.params["peft.r"] in (4, 8, 16, 32)
        assert 5e-5 <= settings["method"]["lr"] <= 1e-3
        assert settings["method"]["lr"] == pytest.approx(trial.params["method.lr"], rel=1e-5)
        assert (settings["method"]["selection"], settings["method"]["direction"]) == ("heldout", "both")
        with (run / "log.csv").open(newline="") as rows:
            losses = [
                float(row["value"])
                for row in csv.DictReader(rows)
                if (row["split"], row["metric"]) == ("selection", "loss")
            ]
        assert trial.value == min(losses)
    best = min(done, key=lambda trial: trial.value)
    assert f"best of 2 trials: selection/loss {best.value:.4f}" in caplog.text
    caplog.clear()
    search(tmp_path, monkeypatch, file, "hydra.sweeper.n_trials=2")
    assert "trial 0" not in caplog.text, "a finished search runs nothing"
    search(tmp_path, monkeypatch, file, "hydra.sweeper.n_trials=3")
    again = trials(tmp_path, "lora_rank")
    assert [trial.params for trial in again[:2]] == [trial.params for trial in done]
    assert again[2].params not in [trial.params for trial in done]


@pytest.mark.every
def test_a_trial_that_was_killed_goes_on_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import figlang.training.fitting

    real = figlang.training.fitting.fit

    def interrupted(config: TrainConfig, *rest: Any) -> Any:
        if config.method.lr == 2e-4:
            raise KeyboardInterrupt
        return real(config, *rest)

    monkeypatch.setattr(figlang.training.fitting, "fit", interrupted)
    words = [
        "method.selection=heldout",
        "method.lr=1e-4,2e-4",
        "hydra.sweeper.method=grid",
        "hydra.sweeper.study=lr",
    ]
    with pytest.raises(SystemExit, match="130"):
        search(tmp_path, monkeypatch, *words)
    assert [trial.state.name for trial in trials(tmp_path, "lr")] == ["COMPLETE", "RUNNING"]
    monkeypatch.setattr(figlang.training.fitting, "fit", real)
    search(tmp_path, monkeypatch, *words)
    done = trials(tmp_path, "lr")
    assert [trial.state.name for trial in done] == ["COMPLETE", "COMPLETE"]
    assert {trial.params["method.lr"] for trial in done} == {"0.0001", "0.0002"}
    with pytest.raises(SystemExit):
        search(tmp_path, monkeypatch, "method.lr=1e-4,3e-4", *words[:1], *words[2:])


@pytest.mark.parametrize(
    ("number", "code"), sampled([(signal.SIGTERM, 143), (signal.SIGINT, 130)], (signal.SIGTERM, 143))
)
def test_a_search_that_is_asked_to_stop_stops_and_goes_on_in_the_same_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    words = [
        "method.selection=heldout",
        "method.lr=1e-4,2e-4",
        "hydra.sweeper.method=grid",
        "method.epochs=2",
    ]
    with monkeypatch.context() as patch:
        at_step(patch, 1, lambda found: (os.kill(os.getpid(), number), found)[1])
        with pytest.raises(SystemExit) as stopped:
            search(tmp_path, monkeypatch, *words)
    assert stopped.value.code == code
    assert [trial.state.name for trial in trials(tmp_path, "search")] == ["RUNNING", "WAITING"]
    search(tmp_path, monkeypatch, *words)
    assert [trial.state.name for trial in trials(tmp_path, "search")] == ["COMPLETE", "COMPLETE"]


@pytest.mark.every
def test_a_trial_that_fails_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [
        "method.selection=heldout",
        "method.lr=1e38,1e-4",
        "hydra.sweeper.method=grid",
        "method.epochs=2",
    ]
    search(tmp_path, monkeypatch, *words)
    assert {trial.params["method.lr"]: trial.state.name for trial in trials(tmp_path, "search")} == {
        "1e+38": "FAIL",
        "0.0001": "COMPLETE",
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "nothing to search"),
        (["method.lr=1e-4,2e-4", "hydra.sweeper.goal=best"], "hydra.sweeper.goal=best is not a choice"),
        (
            ["method.lr=1e-4,2e-4", "hydra.sweeper.study=../../lr"],
            "hydra.sweeper.study=../../lr is not a plain name",
        ),
        (["hydra.sweeper.file=nowhere.yaml"], "hydra.sweeper.file=nowhere.yaml cannot be read"),
        (["method.lr=1e-4,2e-4", "hydra.sweeper.metric=val_loss"], "val_loss is not a name of log.csv"),
        (
            ["method.lr=1e-4,2e-4", "hydra.sweeper.metric=validation/loss", "hydra.sweeper.method=grid"],
            "has no validation/loss, but train/accuracy, train/loss, train/lr, train/step_loss, validation/",
        ),
        (["method.lr=interval(1e-5,1e-4)", "hydra.sweeper.method=grid"], "needs values, not intervals"),
        (["method.lr=1e-4,2e-4", "hydra.sweeper.method=grid"], "needs method.selection=heldout"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    with pytest.raises(SystemExit) as stopped:
        search(tmp_path, monkeypatch, *arguments)
    assert stopped.value.code == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert expected in said[0]


def agent_words(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command that W&B's agent runs for the first values of a sweep file, by its own functions."""
    wandb_sweeps = pytest.importorskip("wandb.sdk.launch.sweeps.utils", reason="needs figlang[wandb]")
    content: Any = OmegaConf.to_container(OmegaConf.load(path))
    chosen = {
        name: {"value": given["values"][0] if "values" in given else given["min"]}
        for name, given in content["parameters"].items()
    }
    filled = wandb_sweeps.create_sweep_command_args({"args": chosen})
    macros = {"env": ["/usr/bin/env"], "interpreter": ["python"], "program": [content["program"]], **filled}
    words = []
    for word in wandb_sweeps.create_sweep_command(content["command"]):
        words += macros.get(word[2:-1], []) if re.fullmatch(r"\$\{.*\}", word) else [word]
    return words


@pytest.mark.parametrize("path", sampled(SWEEPS, CONF / "sweep" / "mlm_lr.yaml"), ids=lambda path: path.stem)
def test_the_words_of_the_agent_train(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env, python, script, *words = agent_words(path, monkeypatch)
    assert (env, python, script) == ("/usr/bin/env", "python", "train.py")
    monkeypatch.setenv("WANDB_SWEEP_ID", "sweep7")
    monkeypatch.setenv("WANDB_RUN_ID", f"run-{path.stem}")
    config = compose("train", TrainConfig, words)
    assert config.run == f"runs/sweep/sweep7/run-{path.stem}"
    assert (config.logger.name, config.logger.mode) == ("wandb", "online")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["train.py", *words, *TINY, "data.limit=16", "method.epochs=1", "logger.mode=disabled"]
    )
    train_command()
    with (tmp_path / config.run / "log.csv").open(newline="") as rows:
        logged = {f"{row['split']}/{row['metric']}" for row in csv.DictReader(rows)}
    # Early termination compares what is logged while training.
    assert OmegaConf.load(path).metric.name in logged


def test_sweeps_are_over_the_published_values() -> None:
    # Liu et al. 2022, §4.1 and §4.2: 5e-6 to 2e-5 of the encoders, 1e-5 to 5e-5 of the causal models
    lm, mlm = (
        OmegaConf.load(CONF / "sweep" / f"{name}_lr.yaml").parameters["method.lr"]["values"]
        for name in ("lm", "mlm")
    )
    assert (min(lm), max(lm), min(mlm), max(mlm)) == (1e-5, 5e-5, 5e-6, 2e-5)


@pytest.mark.every
def test_seeds_are_not_searched_but_averaged_within_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["method.lr=1e-4,1e-3", "seed=0,1", "method.selection=heldout", "hydra.sweeper.method=grid"]
    search(tmp_path, monkeypatch, *words)
    done = trials(tmp_path, "search")
    assert [trial.params["method.lr"] for trial in done] == ["0.0001", "0.001"]
    for trial in done:
        runs = [Path(run) for run in trial.user_attrs["run"].split("\n")]
        assert [run.name for run in runs] == ["seed0", "seed1"]
        selected = [
            json.loads((run / "metrics.json").read_text())["training"]["selected"]["loss"] for run in runs
        ]
        assert trial.value == pytest.approx(sum(selected) / 2)
    shown = " ".join(capsys.readouterr().out.split())
    assert "4 runs" in shown
    assert "evaluated on" in shown
    assert "The best setting is trained by:" in shown
