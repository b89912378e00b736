"""Weights & Biases with the real client: offline runs, read back from disk."""

import json
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from figlang.training.trackers import wandb as tracking
from tests.running import TINY, train_apart
from train import main as train_command

pytest.importorskip("wandb", reason="needs figlang[wandb]")
import wandb
from wandb.proto import wandb_internal_pb2

pytestmark = pytest.mark.drawn

SECRETS = {"WANDB_API_KEY": "0123456789abcdef0123456789abcdef01234567", "HF_TOKEN": "hf_secretsecretsecret"}


def train(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> None:
    for name in ("WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_MODE", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    words = [
        *TINY,
        f"run={folder}",
        "model.name_or_path=https://ann:swordfish@host/a/model",
        "model.name='tiny: ${oc.env:HF_TOKEN}'",
        "logger=wandb",
        "data.limit=16",
        "method.selection=heldout",
        "method.epochs=2",
    ]
    monkeypatch.setattr(sys, "argv", ["train.py", *words, *arguments])
    train_command()


def records(file: Path) -> list[Any]:
    """The records of a .wandb file: LevelDB's log format behind a header of seven bytes, blocks of 32 KiB."""
    content, place, found, part = file.read_bytes(), 7, [], b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        part += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(part)
            found.append(record)
            part = b""
    return found


def items(updates: Any) -> dict[str, Any]:
    return {".".join(update.nested_key) or update.key: json.loads(update.value_json) for update in updates}


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that logged offline, its model too."""
    folder = tmp_path_factory.mktemp("logged") / "run"
    with pytest.MonkeyPatch.context() as patch:
        train(patch, folder, "logger.model=true")
    return folder


def read(folder: Path) -> list[Any]:
    (file,) = (folder / "wandb").glob("offline-run-*/*.wandb")
    return records(file)


def test_an_offline_run_holds_config_curves_and_results(logged: Path) -> None:
    found = read(logged)
    config: dict[str, Any] = {}
    history: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    for record in found:
        config |= items(record.config.update) | items(record.run.config.update)
        if record.HasField("history"):
            history.append(items(record.history.item))
        summary |= items(record.summary.update)
    assert config["method"]["epochs"] == 2
    assert config["model"]["init"] == "tiny"
    assert not {"paths", "logger"} & config.keys()
    curve = [row["selection/loss"] for row in history if "selection/loss" in row]
    assert len(curve) == 2, "early termination compares epochs"
    assert any("train/step_loss" in row for row in history)
    assert any("validation/pair_accuracy" in row for row in history)
    (last,) = (row for row in history if "predictions._type" in row)
    assert [last[f"predictions.{name}"] for name in ("_type", "ncols", "nrows")] == ["table-file", 5, 16]
    assert {name for name in last if name.endswith("._type")} == {
        "predictions._type",
        "figures/loss._type",
        "figures/accuracy._type",
    }
    content = json.loads((logged / "metrics.json").read_text())
    assert summary["final/accuracy"] == content["metrics"]["accuracy"]
    assert summary["final/blind_accuracy"] == content["blind"]["accuracy"]
    assert summary["final/gain"] == content["gain"]
    assert summary["selection/loss"] == pytest.approx(min(curve))


def test_the_model_is_an_artifact_where_asked_for(logged: Path) -> None:
    models = [
        record.request.log_artifact.artifact
        for record in read(logged)
        if record.request.HasField("log_artifact")
    ]
    models += [record.artifact for record in read(logged) if record.HasField("artifact")]
    (artifact,) = (each for each in models if each.type == "model")
    paths = {entry.path for entry in artifact.manifest.contents}
    assert {"model.safetensors", "config.json", "figlang.json"} <= paths


def test_no_secret_is_written(logged: Path) -> None:
    for file in logged.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not [name for name, value in SECRETS.items() if value.encode() in content], file
            assert b"swordfish" not in content, file


def test_a_run_that_goes_on_keeps_its_id(logged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (logged / "metrics.json").unlink()
    train(monkeypatch, logged, "logger.model=true")
    identity = (logged / "wandb-id.txt").read_text().strip()
    folders = list((logged / "wandb").glob("offline-run-*"))
    assert len(folders) == 2
    assert {folder.name.rpartition("-")[2] for folder in folders} == {identity}


@pytest.mark.every
def test_a_client_started_from_another_folder_finds_a_relative_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wandb.setup()  # from now on WANDB_SERVICE names a process that has started in this folder
    inner = tmp_path / "inner"
    inner.mkdir()
    result = train_apart(inner, "run=logged", "logger=wandb")
    assert result.returncode == 0, result.stderr
    (kept,) = (inner / "logged" / "wandb").glob("offline-run-*/*.wandb")
    assert records(kept)


def test_a_name_that_the_client_refuses_offline_has_nothing_to_do_with_a_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        train(monkeypatch, tmp_path / "run", "logger.project=a/b")
    said = capsys.readouterr().err
    assert "Invalid project name 'a/b'" in said
    assert "give another logger.project" in said
    assert "log in" not in said


def test_a_disabled_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(monkeypatch, tmp_path / "run", "logger.mode=disabled")
    assert (tmp_path / "run" / "metrics.json").is_file()
    assert not (tmp_path / "run" / "wandb").exists()


@pytest.mark.parametrize(("sweep", "marked"), [("s1", 1), (None, 0)])
def test_a_stopped_run_of_a_sweep_is_marked_as_preempting(
    monkeypatch: pytest.MonkeyPatch, sweep: str | None, marked: int
) -> None:
    marks = []
    fake = SimpleNamespace(run=SimpleNamespace(mark_preempting=lambda: marks.append(1)))
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.delenv("WANDB_SWEEP_ID", raising=False)
    if sweep:
        monkeypatch.setenv("WANDB_SWEEP_ID", sweep)
    tracking.preempted()
    assert len(marks) == marked
