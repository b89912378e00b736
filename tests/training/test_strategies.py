"""Two processes on the CPU: every process trains on its share of each batch, one of them reports.

The networks have no dropout, which would draw other numbers in two processes than in one; the batches do not
divide evenly.
"""

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from figlang.config import TrainerConfig
from figlang.config.presets import CONF
from figlang.errors import FiglangError
from figlang.training.strategies import places
from tests import causal_models, masked_models
from tests.processes import Group, Strike, preload
from tests.running import ROOT, TINY, environment, train, train_apart

COMMON = [*TINY, "model.init=pretrained", "method.lr=0.001", "data.limit=61", "method.batch_size=7"]
ZERO = ["deepspeed_1", "deepspeed_2", "deepspeed_2_offload", "deepspeed_3"]
NEEDED = pytest.mark.skipif(find_spec("deepspeed") is None, reason="needs figlang[deepspeed]")
STRATEGIES = [
    pytest.param("ddp", marks=pytest.mark.every),  # `make test-wheel` trains by it too
    pytest.param("fsdp", marks=pytest.mark.every),
    *(pytest.param(name, marks=[NEEDED, pytest.mark.slow]) for name in ZERO),
]
# DeepSpeed clips by another length of the gradient there; without clipping (method.clip=1e9) the losses are
# those of one process.
DIFFERS = "deepspeed_2_offload"
preload(*(["deepspeed"] if find_spec("deepspeed") else []))
Row = tuple[str, str, str, str]


def one(home: Path, *arguments: str) -> str:
    """What a training in one process says."""
    return Group(1, home, "train.py", *COMMON, *arguments).wait().said


def two(home: Path, strategy: str, *arguments: str) -> str:
    """What a training in two processes says."""
    return together(home, strategy, *arguments).wait().said


def together(home: Path, strategy: str, *arguments: str, struck: Strike | None = None) -> Group:
    words = [*COMMON, f"trainer={strategy}", "trainer.accelerator=cpu", *arguments]
    return Group(2, home, "train.py", *words, struck=struck)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A tiny BERT without dropout, its weights on disk."""
    return bert(tmp_path_factory.mktemp("encoder"), dropout=0.0)


def bert(folder: Path, dropout: float) -> list[str]:
    tokenizer = masked_models.word_pieces()
    settings = {
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
        "max_position_embeddings": 128,
    }
    masked_models.network("bert", tokenizer, **settings).bert.save_pretrained(folder)
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
    return {
        row["id"]: row["scores"]
        for row in map(json.loads, (folder / "predictions.jsonl").read_text().splitlines())
    }


def exported(run: Path) -> Path:
    """The weights or, of a run with adapters, theirs."""
    (path,) = (run / "model").glob("*model.safetensors")
    return path


def assert_equal_runs(one: Path, other: Path) -> None:
    assert curve(other) == pytest.approx(curve(one), abs=2e-4)
    found, expected = scores(other), scores(one)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, abs=2e-3)
    metrics = [json.loads((folder / "metrics.json").read_text())["metrics"] for folder in (one, other)]
    assert metrics[0]["accuracy"] == metrics[1]["accuracy"]
    assert sorted(path.name for path in (one / "model").iterdir()) == sorted(
        path.name for path in (other / "model").iterdir()
    )
    weights, others = (load_file(exported(folder)) for folder in (one, other))
    assert {name: (value.shape, value.dtype) for name, value in weights.items()} == {
        name: (value.shape, value.dtype) for name, value in others.items()
    }
    assert (one / "model" / "config.json").read_text() == (other / "model" / "config.json").read_text()


@pytest.mark.every
def test_lightning_starts_two_processes(tmp_path: Path) -> None:
    result = train_apart(
        tmp_path, "run=two", "trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=2", "data.limit=16"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("signature") == 1


def test_a_multirun_over_several_processes_is_refused(tmp_path: Path) -> None:
    result = train(tmp_path, "trainer=ddp", "trainer.devices=2", "-m", "seed=0,1")
    assert result.returncode == 2
    assert "a sweep (-m) needs trainer.devices=1" in result.stderr


# All weights; the best epoch's weights; adapters.
CASES = {
    "full": ["method.epochs=4"],  # of 9 steps
    "selected": ["method.epochs=3", "method.selection=heldout"],
    "adapters": ["method.epochs=2"],
}


@pytest.fixture(scope="session")
def alone(
    tmp_path_factory: pytest.TempPathFactory, encoder: list[str], causal: list[str]
) -> Callable[[str], Path]:
    """What one process makes of a case, once it is asked for."""
    home = tmp_path_factory.mktemp("alone")

    @cache
    def made(case: str) -> Path:
        one(home, f"run={case}", *(causal if case == "adapters" else encoder), *CASES[case])
        return home / case

    return made


@pytest.mark.parametrize("case", [pytest.param("selected", marks=pytest.mark.slow), "adapters"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_is_one_process(
    tmp_path: Path,
    alone: Callable[[str], Path],
    encoder: list[str],
    causal: list[str],
    strategy: str,
    case: str,
) -> None:
    if strategy == DIFFERS:
        pytest.skip("known to differ")
    said = two(tmp_path, strategy, "run=two", *(causal if case == "adapters" else encoder), *CASES[case])
    assert said.count("signature") == 1
    assert_equal_runs(alone(case), tmp_path / "two")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_stopped_and_killed_processes_end_as_uninterrupted_ones_and_these_as_one_process(
    tmp_path: Path, alone: Callable[[str], Path], encoder: list[str], strategy: str
) -> None:
    more = [*encoder, *CASES["full"]]
    assert two(tmp_path, strategy, "run=whole", *more).count("signature") == 1
    if strategy != DIFFERS:
        assert_equal_runs(alone("full"), tmp_path / "whole")
    stopped = together(tmp_path, strategy, "run=stopped", *more, struck=(signal.SIGTERM, 14))
    assert stopped.codes() == [143, 143], stopped.said
    assert "the same command continues stopped after step 14" in stopped.said
    killed = together(tmp_path, strategy, "run=stopped", *more, struck=(signal.SIGKILL, 31))
    assert killed.codes()[-1] == -9, killed.said
    assert "resuming from" in killed.said
    if strategy in ZERO:
        tear_the_next_state(tmp_path / "stopped" / "checkpoints")
    assert "resuming from" in two(tmp_path, strategy, "run=stopped", *more)
    assert_same_end(tmp_path / "whole", tmp_path / "stopped")


def assert_same_end(whole: Path, resumed: Path) -> None:
    weights, others = (load_file(exported(run)) for run in (whole, resumed))
    for name, weight in weights.items():
        torch.testing.assert_close(others[name], weight, rtol=0, atol=1e-6)
    assert scores(resumed) == scores(whole)
    assert curve(resumed) == pytest.approx(curve(whole), abs=1e-6)


def tear_the_next_state(folder: Path) -> None:
    """As if the processes had been killed while they wrote it."""
    current = (folder / "last.ckpt").resolve().name
    parts = folder / ("last-a.ckpt" if current == "last-b.ckpt" else "last-b.ckpt") / "checkpoint"
    parts.mkdir(parents=True, exist_ok=True)
    for file in (folder / current / "checkpoint").iterdir():
        (parts / file.name).write_bytes(file.read_bytes()[:100])


@pytest.mark.every
def test_every_process_draws_on_its_own_dropout_again(tmp_path: Path) -> None:
    more = [*bert(tmp_path / "base", dropout=0.1), "method.epochs=2"]
    two(tmp_path, "ddp", "run=whole", *more)
    for step in (4, 9):  # within an epoch and at its end, where the validation comes first
        stopped = together(tmp_path, "ddp", "run=stopped", *more, struck=(signal.SIGTERM, step))
        assert stopped.codes() == [143, 143], stopped.said
        assert f"the same command continues stopped after step {step}" in stopped.said
    two(tmp_path, "ddp", "run=stopped", *more)
    assert_same_end(tmp_path / "whole", tmp_path / "stopped")


def weights_in(state: Path) -> set[str]:
    files = list(state.rglob("*model_states.pt")) if state.is_dir() else [state]
    read = [torch.load(file, weights_only=False) for file in files]
    return {name for content in read for name in content["module" if "module" in content else "state_dict"]}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_frozen_weights_are_not_saved(tmp_path: Path, causal: list[str], strategy: str) -> None:
    killed = together(
        tmp_path, strategy, "run=killed", *causal, *CASES["adapters"], struck=(signal.SIGKILL, 14)
    )
    assert -9 in killed.codes(), killed.said
    state = (tmp_path / "killed" / "checkpoints" / "last.ckpt").resolve()
    names = weights_in(state)
    assert names
    assert [name for name in names if "lora_" not in name] == []
    assert "resuming from" in two(tmp_path, strategy, "run=killed", *causal, *CASES["adapters"])


@pytest.mark.slow
def test_torchrun_says_how_many_processes(
    tmp_path: Path, alone: Callable[[str], Path], encoder: list[str]
) -> None:
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(ROOT / "train.py"),
    ]
    command = [
        *torchrun,
        *COMMON,
        "trainer=ddp",
        "trainer.accelerator=cpu",
        "run=two",
        *encoder,
        *CASES["full"],
    ]
    known = environment(tmp_path)
    result = subprocess.run(
        command, cwd=tmp_path, env=known, capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, result.stderr
    assert_equal_runs(alone("full"), tmp_path / "two")


@pytest.mark.parametrize(
    ("known", "settings", "expected"),
    [
        ({}, {}, ("auto", 1)),
        ({}, {"devices": "2", "nodes": 3}, (2, 3)),
        ({"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}, {}, (4, 2)),
        ({"SLURM_NTASKS": "8", "SLURM_NNODES": "2", "SLURM_JOB_NAME": "figlang"}, {}, (4, 2)),
        ({"SLURM_NTASKS": "8", "SLURM_NNODES": "2", "SLURM_JOB_NAME": "bash"}, {}, ("auto", 1)),
        (
            {"SLURM_NTASKS": "8", "SLURM_NNODES": "2", "SLURM_JOB_NAME": "figlang"},
            {"strategy": "auto"},
            ("auto", 1),
        ),
    ],
)
def test_processes_are_counted_as_they_were_started(
    monkeypatch: pytest.MonkeyPatch,
    known: dict[str, str],
    settings: dict[str, Any],
    expected: tuple[str | int, int],
) -> None:
    for name in (
        "TORCHELASTIC_RUN_ID",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "SLURM_NTASKS",
        "SLURM_NNODES",
        "SLURM_JOB_NAME",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    assert places(TrainerConfig(**{"strategy": "ddp", **settings})) == expected


def test_other_processes_than_are_configured_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    for strategy in ("auto", "ddp"):
        with pytest.raises(FiglangError, match=r"started 2 processes .*set trainer\.devices=2"):
            places(TrainerConfig(devices="1", strategy=strategy))
        assert places(TrainerConfig(devices="2", strategy=strategy))[0] == 2


# As SLURM would: the tasks of a step with their numbers, here two of one node.
SRUN = """#!/bin/bash
shift  # --kill-on-bad-exit=1
for task in 0 1; do SLURM_PROCID=$task SLURM_LOCALID=$task "$@" & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
"""


@pytest.mark.slow
def test_the_sbatch_file_trains(tmp_path: Path, alone: Callable[[str], Path], encoder: list[str]) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "srun").write_text(SRUN)
    (tmp_path / "bin" / "srun").chmod(0o755)
    slurm = {
        "JOB_ID": "7",
        "JOB_NAME": "figlang",
        "NTASKS": "2",
        "NTASKS_PER_NODE": "2",
        "NNODES": "1",
        "NODEID": "0",
        "NODELIST": "localhost",
    }
    known = {f"SLURM_{name}": value for name, value in slurm.items()} | {
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    }
    words = [
        *COMMON,
        "trainer=ddp",
        "trainer.accelerator=cpu",
        f"run={tmp_path}/two",
        *encoder,
        *CASES["full"],
    ]
    command = ["bash", str(CONF / "slurm" / "train.sbatch"), *words]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(tmp_path) | known,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert_equal_runs(alone("full"), tmp_path / "two")
