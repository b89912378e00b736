"""Adapters that stand for whole networks: exact at full rank, nearest at a lower one."""

import json
import logging
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from figlang.commands.average import main as average_command
from figlang.config import ModelConfig
from figlang.models import checkpoint, networks
from tests.calls import call
from tests.running import train
from train import main as train_command

EXACT = "trainer.precision=32-true"
WIDTH = 32


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network as it comes, and two seeds that trained all of its weights."""
    folder = tmp_path_factory.mktemp("narrow")
    texts = ["The room was an oven", "It was hot and cold.", "She was as loud as thunder"]
    network, tokenizer = networks.build(ModelConfig(init="tiny"), "dual", texts, 2)
    network.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    with pytest.MonkeyPatch.context() as patched:
        for seed in (0, 1):
            words = [f"run={folder}/seed{seed}", f"seed={seed}", f"model={folder}/base", "data=figqa_sample"]
            more = ["data.limit=40", "method.lr=1e-2", "method.epochs=1", "method.format=dual"]
            call(patched, train_command, *words, *more, EXACT)
    return folder


def average(home: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    call(monkeypatch, average_command, f"{home}/seed0", f"{home}/seed1", *words)


def state(home: Path, name: str) -> dict[str, torch.Tensor]:
    return checkpoint.load(str(home / name)).network.state_dict()


def test_at_full_rank_linear_layers_are_the_mean_and_others_as_they_were(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    average(home, monkeypatch, f"output={home}/full", "rank=1000")
    assert (home / "full" / "model" / "adapter_model.safetensors").is_file()
    assert not (home / "full" / "model" / "model.safetensors").exists()
    base, found = load_file(home / "base" / "model.safetensors"), state(home, "full")
    each = [state(home, f"seed{seed}") for seed in (0, 1)]
    moved = set()
    for name, value in found.items():
        mean = (each[0][name] + each[1][name]) / 2
        if not torch.equal(value, base[name]):
            moved.add(name)
            torch.testing.assert_close(value, mean, rtol=1e-4, atol=1e-5)
    assert moved == {
        name for name in found if ".layer." in name and name.endswith(".weight") and "Norm" not in name
    }
    manifest = json.loads((home / "full" / "model" / "figlang.json").read_text())
    assert manifest["method"] == "contrastive, mean of 2 seeds, rank 1000"
    assert "rank 1000" in json.loads((home / "full" / "metrics.json").read_text())["signature"]


def test_at_a_lower_rank_each_layer_is_the_nearest(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="figlang"):
        average(home, monkeypatch, f"output={home}/low", "rank=2")
    base, found = load_file(home / "base" / "model.safetensors"), state(home, "low")
    each = [state(home, f"seed{seed}") for seed in (0, 1)]
    changed = {name: (each[0][name] + each[1][name]) / 2 - base[name] for name in base}
    kept = 0.0
    for name, value in found.items():
        difference = value - base[name]
        if difference.any():
            left, values, right = torch.linalg.svd(changed[name])
            nearest = left[:, :2] * values[:2] @ right[:2]
            torch.testing.assert_close(difference, nearest, rtol=1e-3, atol=1e-5)
            kept += float(nearest.square().sum())
    share = 100 * kept / sum(float(change.square().sum()) for change in changed.values())
    assert f"rank 2 keeps {share:.1f} % of the squared length of what the training changed" in caplog.text


def test_what_has_no_network_below_is_one_line(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (0, 1):
        for name, word in (("head", "method.format=pair"), ("tiny", "method.format=dual")):
            ended = train(tmp_path, f"run=runs/{name}{seed}", f"seed={seed}", "data.limit=8", word)
            assert ended.returncode == 0, ended.stderr
        words = [f"run={tmp_path}/more{seed}", f"seed={seed}", f"model={home}/seed0", "data=figqa_sample"]
        more = ["data.limit=8", "method.epochs=1", "method.format=dual"]
        call(monkeypatch, train_command, *words, *more, EXACT)
    for name, said in (
        ("runs/head", "and these are random"),
        ("runs/tiny", "and these are random"),
        ("more", "which is itself trained"),
    ):
        runs = [f"{tmp_path}/{name}{seed}" for seed in (0, 1)]
        with pytest.raises(SystemExit):
            call(monkeypatch, average_command, *runs, f"output={tmp_path}/x", "rank=2")
        assert said in capsys.readouterr().err
        assert not (tmp_path / "x").exists()
    shutil.move(home / "base", tmp_path / "base")
    with pytest.raises(SystemExit):
        average(home, monkeypatch, f"output={tmp_path}/x", "rank=2")
    assert "no such model folder" in capsys.readouterr().err
    shutil.move(tmp_path / "base", home / "base")
