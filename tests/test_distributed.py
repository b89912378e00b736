"""Two processes on the CPU: every process trains on its share of each batch, one of them reports.

The networks have no dropout, which would draw other numbers in two processes than in one; the batches do not divide evenly.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests import causal_models, masked_models
from tests.test_train import ROOT, TINY, environment, run, train

COMMON = ["model.init=pretrained", "trainer.accelerator=cpu", "method.lr=0.001", "data.limit=61", "method.batch_size=7"]
TWO = ["trainer.devices=2", *COMMON]
STRATEGIES = ["ddp", "fsdp", "deepspeed_1", "deepspeed_2", "deepspeed_2_offload", "deepspeed_3"]
Row = tuple[str, str, str, str]


def two(strategy: str) -> list[str]:
    if strategy.startswith("deepspeed"):
        pytest.importorskip("deepspeed", reason="needs figlang[deepspeed]")
    return [f"trainer={strategy}", *TWO]


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A tiny BERT without dropout, its weights on disk."""
    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = masked_models.word_pieces()
    dropless = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "max_position_embeddings": 128}
    masked_models.network("bert", tokenizer, **dropless).bert.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return [f"model.name_or_path={folder}"]


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A tiny Llama, trained by adapters in both directions: pairs are the items of a batch."""
    folder = tmp_path_factory.mktemp("causal")
    causal_models.network("llama").save_pretrained(folder)
    causal_models.tokenizer().save_pretrained(folder)
    adapters = ["peft=lora", "peft.dropout=0", "method.direction=both"]
    return ["model=causal", f"model.name_or_path={folder}", "model.bos=add", *adapters]


def curve(folder: Path) -> dict[Row, float]:
    """Every number of log.csv by step, epoch, split and metric."""
    with (folder / "log.csv").open(newline="") as file:
        rows = csv.DictReader(file)
        return {(row["step"], row["epoch"], row["split"], row["metric"]): float(row["value"]) for row in rows}


def scores(folder: Path) -> dict[str, list[float]]:
    return {row["id"]: row["scores"] for row in map(json.loads, (folder / "predictions.jsonl").read_text().splitlines())}


def assert_equal_runs(one: Path, other: Path) -> None:
    assert curve(other) == pytest.approx(curve(one), abs=2e-4)
    found, expected = scores(other), scores(one)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, abs=2e-3)
    metrics = [json.loads((folder / "metrics.json").read_text())["metrics"] for folder in (one, other)]
    assert metrics[0]["accuracy"] == metrics[1]["accuracy"]
    assert sorted(path.name for path in (one / "model").iterdir()) == sorted(path.name for path in (other / "model").iterdir())
    weights, others = (load_file(folder / "model" / "model.safetensors") for folder in (one, other))
    assert {name: (value.shape, value.dtype) for name, value in weights.items()} == {
        name: (value.shape, value.dtype) for name, value in others.items()
    }
    assert (one / "model" / "config.json").read_text() == (other / "model" / "config.json").read_text()


def test_two_processes_are_one(tmp_path: Path, encoder: list[str]) -> None:
    for name, more in (("one", ["trainer=cpu", *COMMON]), ("two", two("ddp"))):
        result = train(tmp_path, f"run={name}", *encoder, *more)
        assert result.returncode == 0, result.stderr
        assert result.stdout.count("signature") == 1
    assert_equal_runs(tmp_path / "one", tmp_path / "two")


def test_a_multirun_over_several_processes_is_refused(tmp_path: Path) -> None:
    result = train(tmp_path, "trainer=ddp", "trainer.devices=2", "-m", "seed=0,1")
    assert result.returncode == 2
    assert "a multirun (-m) needs trainer.devices=1" in result.stderr


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory, encoder: list[str], causal: list[str]) -> Path:
    """What one process makes of each: all weights; with the best epoch selected; adapters."""
    home = tmp_path_factory.mktemp("alone")
    for name, more in cases(encoder, causal).items():
        result = train(home, f"run={name}", *more, "trainer=cpu", *COMMON)
        assert result.returncode == 0, result.stderr
    return home


def cases(encoder: list[str], causal: list[str]) -> dict[str, list[str]]:
    return {
        "full": [*encoder, "method.epochs=4"],
        "selected": [*encoder, "method.epochs=3", "method.selection=heldout"],
        "adapters": [*causal, "method.epochs=2"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", ["full", "selected", "adapters"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_is_one_process(
    tmp_path: Path, alone: Path, encoder: list[str], causal: list[str], strategy: str, case: str
) -> None:
    result = train(tmp_path, "run=two", *cases(encoder, causal)[case], *two(strategy))
    assert result.returncode == 0, result.stderr
    assert_equal_runs(alone / case, tmp_path / "two")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_killed_processes_end_as_uninterrupted_ones(tmp_path: Path, encoder: list[str], strategy: str) -> None:
    more = [*encoder, *two(strategy), "method.epochs=8"]
    assert train(tmp_path, "run=whole", *more).returncode == 0
    kill_after(tmp_path, "epoch 3 of 8", "run=killed", *more)
    folder = tmp_path / "killed" / "checkpoints"
    assert not (tmp_path / "killed" / "metrics.json").exists(), "the run finished before it was killed: the test shows nothing"
    if strategy.startswith("deepspeed"):
        # As if it had been killed while it wrote the next state.
        other = next(
            folder / name
            for name in ("last-a.ckpt", "last-b.ckpt")
            if (folder / name).resolve() != (folder / "last.ckpt").resolve()
        )
        (other / "checkpoint").mkdir(parents=True, exist_ok=True)
        for file in (other / "checkpoint").iterdir():
            file.write_bytes(file.read_bytes()[:100])
    resumed = train(tmp_path, "run=killed", *more)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming from" in resumed.stderr
    whole, killed = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "killed"))
    for name, weight in whole.items():
        torch.testing.assert_close(killed[name], weight, rtol=0, atol=1e-6)
    assert (tmp_path / "whole" / "predictions.jsonl").read_bytes() == (tmp_path / "killed" / "predictions.jsonl").read_bytes()
    assert curve(tmp_path / "killed") == pytest.approx(curve(tmp_path / "whole"), abs=1e-6)


def kill_after(home: Path, line: str, *arguments: str) -> None:
    """Start a training, and kill all its processes (SIGKILL) a moment after it has said `line`."""
    command = [sys.executable, str(ROOT / "train.py"), *TINY, *arguments]
    with subprocess.Popen(
        command,
        cwd=home,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert any(said.startswith(line) for said in process.stderr), "it ended too early"
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "deepspeed_3"])
def test_frozen_weights_are_not_saved(tmp_path: Path, causal: list[str], strategy: str) -> None:
    more = [*causal, *two(strategy), "method.epochs=8"]
    kill_after(tmp_path, "epoch 2 of 8", "run=killed", *more)
    folder = (tmp_path / "killed" / "checkpoints").resolve()
    files = list((folder / "last.ckpt" / "checkpoint").glob("*.pt")) or [folder / "last.ckpt"]
    frozen = sum(parameter.numel() for parameter in causal_models.network("llama").parameters()) * 4
    assert sum(file.stat().st_size for file in files) < frozen
    resumed = train(tmp_path, "run=killed", *more)
    assert resumed.returncode == 0, resumed.stderr


@pytest.mark.slow
def test_torchrun_says_how_many_processes(tmp_path: Path, alone: Path, encoder: list[str]) -> None:
    script = ROOT / "train.py"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    command = [*torchrun, *TINY, "run=two", *encoder, "method.epochs=4", "trainer=ddp", *COMMON]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    assert_equal_runs(alone / "full", tmp_path / "two")


def test_a_sharded_artefact_is_evaluated_like_any(tmp_path: Path, encoder: list[str]) -> None:
    assert train(tmp_path, "run=two", *encoder, *two("fsdp")).returncode == 0
    again = run(
        tmp_path, "evaluate.py", "checkpoint=two", "data=figqa_sample", "data.limit=61", "output=again", "trainer.progress=false"
    )
    assert again.returncode == 0, again.stderr
    for key, values in scores(tmp_path / "two").items():
        assert scores(tmp_path / "again")[key] == pytest.approx(values, abs=1e-5)
