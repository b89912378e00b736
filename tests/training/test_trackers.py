"""TensorBoard and MLflow as they are, on local files; several at once; trackers whose package is missing."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from figlang.config.groups.trainer import TRACKERS
from figlang.config.presets import CONF
from figlang.config.roots import ROOTS
from figlang.config.shorthand import expanded
from figlang.training.trackers.common import results
from tests.running import TINY
from train import main as train_command

pytestmark = pytest.mark.drawn

SECRETS = {"HF_TOKEN": "hf_secretsecretsecret", "MLFLOW_TRACKING_PASSWORD": "swordfish7"}


def train(patch: pytest.MonkeyPatch, folder: Path, *words: str) -> None:
    patch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name, value in SECRETS.items():
        patch.setenv(name, value)
    given = [*TINY, f"paths.runs={folder}", f"run={folder / 'a' / 'seed0'}", "data.limit=16", *words]
    patch.setattr(sys, "argv", ["train.py", *given])
    train_command()


LOGGED = (
    "logger=[tensorboard,mlflow]",
    "logger.model=true",
    "method.selection=heldout",
    "method.epochs=2",
    "model.name='tiny: ${oc.env:HF_TOKEN}'",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs with one run that both trackers logged."""
    pytest.importorskip("tensorboard", reason="needs figlang[tensorboard]")
    pytest.importorskip("mlflow", reason="needs figlang[mlflow]")
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        train(patch, folder, *LOGGED)
    return folder


def content_of(runs: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((runs / "a" / "seed0" / "metrics.json").read_text())
    return content


def mlflow_run(runs: Path) -> tuple[Any, Any]:
    """MLflow's client, and the one run in its database."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{runs / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("figlang")
    (run,) = client.search_runs([experiment.experiment_id])
    return client, run


def test_tensorboard_has_curves_results_figures_and_settings(runs: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = runs / "a" / "seed0" / "tensorboard"
    events = EventAccumulator(str(folder))
    events.Reload()
    content = content_of(runs)
    for name, value in results(content).items():
        (scalar,) = events.Scalars(name)
        assert scalar.value == pytest.approx(value)
        assert scalar.step == content["training"]["steps"]
    assert {"final/accuracy", "final/accuracy_low", "final/gain"} <= set(results(content))
    assert len(events.Scalars("selection/loss")) == 2
    assert events.Scalars("train/step_loss")
    assert set(events.Tags()["images"]) == {"figures/loss", "figures/accuracy"}
    assert "init: tiny" in (folder / "hparams.yaml").read_text()


def test_mlflow_has_curves_results_files_and_settings(runs: Path) -> None:
    client, run = mlflow_run(runs)
    content = content_of(runs)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "a/seed0")
    assert run.data.tags["signature"] == content["signature"]
    assert (run.data.params["method/epochs"], run.data.params["model/init"]) == ("2", "tiny")
    assert not [name for name in run.data.params if name.startswith(("paths", "logger"))]
    for name, value in results(content).items():
        assert run.data.metrics[name] == pytest.approx(value)
    assert len(client.get_metric_history(run.info.run_id, "selection/loss")) == 2
    stored = runs / "mlflow" / run.info.run_id / "artifacts"
    kept = {path.relative_to(stored).as_posix() for path in stored.rglob("*") if path.is_file()}
    assert {"predictions.jsonl", "figures/loss.png", "model/model.safetensors"} <= kept


def test_no_secret_is_written(runs: Path) -> None:
    for file in runs.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not [name for name, value in SECRETS.items() if value.encode() in content], file


def test_a_run_that_goes_on_keeps_its_mlflow_run(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mlflow_run(runs)[1].info.run_id
    (runs / "a" / "seed0" / "metrics.json").unlink()
    train(monkeypatch, runs, *LOGGED)
    _, run = mlflow_run(runs)
    assert (run.info.run_id, run.info.status) == (before, "FINISHED")


def said(
    patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, *words: str
) -> list[str]:
    with pytest.raises(SystemExit) as stopped:
        train(patch, folder, *words)
    assert stopped.value.code == 2
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]


@pytest.mark.parametrize("name", [name for name in TRACKERS if name != "csv"])
def test_a_missing_package_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = {"comet": "comet_ml"}.get(name, name)
    for loaded in [each for each in sys.modules if each == module or each.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)  # an import of it fails
    (line,) = said(monkeypatch, capsys, tmp_path, f"logger={name}")
    assert line.startswith(f"error: logger={name} needs the package {name.partition('_')[0]}")
    assert line.endswith(f"install it with `pip install 'figlang[{name}]'`")


def test_a_server_that_cannot_be_used_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow", reason="needs figlang[mlflow]")
    (line,) = said(monkeypatch, capsys, tmp_path, "logger=mlflow", "logger.uri=nowhere://here")
    assert line.startswith("error: logger=mlflow: ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("logger=wandb", ["logger=wandb"]),
        ("logger=[wandb]", ["logger=wandb"]),
        ("logger=[tensorboard, mlflow,wandb]", ["logger=tensorboard", "logger.also=[mlflow,wandb]"]),
    ],
)
def test_several_trackers_are_a_list(given: str, words: list[str]) -> None:
    assert expanded(ROOTS["train"], [given], CONF) == words


def test_every_tracker_has_a_preset() -> None:
    assert {path.stem for path in (CONF / "logger").glob("*.yaml")} == set(TRACKERS)
