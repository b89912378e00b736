"""Evaluation by several processes gives the numbers of one (figlang/evaluation/processes.py)."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from torch import distributed

from evaluate import main as evaluate_command
from figlang.config import ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation.predicting import How, predict
from figlang.evaluation.processes import Processes, join
from figlang.models.checkpoint import Loaded
from figlang.models.manifest import Manifest
from figlang.types import Item, Split
from tests import causal_models, masked_models
from tests.running import ROOT, environment

QUIET = ["trainer=cpu", "trainer.threads=1", "trainer.progress=false"]
ITEMS = [Item(str(number), str(number // 2), "a", ("b", "c"), 0) for number in range(11)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_every_item_has_one_process_and_pairs_stay_together(size: int) -> None:
    shares = [
        [ITEMS[position] for position in Processes(rank, size).positions(ITEMS)] for rank in range(size)
    ]
    assert sorted((item.id for share in shares for item in share), key=int) == [item.id for item in ITEMS]
    groups = [{item.group for item in share} for share in shares]
    assert sum(map(len, groups)) == len({item.group for item in ITEMS})
    assert max(map(len, groups)) - min(map(len, groups)) <= 1
    for share in shares:
        assert share == sorted(share, key=ITEMS.index)


def test_one_process_keeps_everything_to_itself() -> None:
    assert join() == Processes(0, 1)
    assert Processes().positions(ITEMS) == list(range(len(ITEMS)))
    assert Processes().gather("rows") == ["rows"]


def test_processes_that_cannot_be_joined_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def init_process_group(*_: Any, **__: Any) -> None:
        raise ValueError("environment variable RANK expected,\nbut not set")

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(distributed, "init_process_group", init_process_group)
    with pytest.raises(
        FiglangError, match=r"WORLD_SIZE=2 is set, but .* \(environment .* not set\); start them by torchrun"
    ):
        join()


def evaluate(output: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["evaluate.py", *QUIET, f"output={output}", *arguments])
    evaluate_command()


def by_torchrun(output: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(ROOT / "evaluate.py"),
    ]
    command = [*torchrun, *QUIET, f"output={output}", *arguments]
    result = subprocess.run(
        command, env=environment(output.parent), capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("signature") == 1


def by_this_process_and_another(output: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchrun would start them, without the seconds that its own process and another one take to import
    torch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    command = [sys.executable, str(ROOT / "evaluate.py"), *QUIET, f"output={output}", *arguments]
    second = {**environment(output.parent), **shared, "RANK": "1", "LOCAL_RANK": "1"}
    for name, value in (shared | {"RANK": "0", "LOCAL_RANK": "0"}).items():
        monkeypatch.setenv(name, value)
    with subprocess.Popen(
        command, env=second, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as other:
        try:
            evaluate(output, arguments, monkeypatch)
        finally:
            distributed.destroy_process_group()
            said, complained = other.communicate(timeout=100)
    assert (other.returncode, said) == (0, ""), complained


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def causal(tmp_path: Path) -> list[str]:
    causal_models.network("llama").save_pretrained(tmp_path / "llama")
    causal_models.tokenizer().save_pretrained(tmp_path / "llama")
    return ["model=causal", f"model.name_or_path={tmp_path / 'llama'}", "model.bos=add"]


# 27 items: 13 pairs and an item alone, so the processes get 14 and 13. The examples are drawn once for the
# whole split and leave out all its metaphors, those of the other process too.
@pytest.mark.parametrize(
    "start",
    [
        pytest.param(by_this_process_and_another, marks=pytest.mark.every),
        pytest.param(by_torchrun, marks=pytest.mark.slow),
    ],
)
def test_two_processes_give_the_numbers_of_one(
    tmp_path: Path, causal: list[str], monkeypatch: pytest.MonkeyPatch, start: Callable[..., None]
) -> None:
    arguments = [*causal, "data.limit=27", "scoring=pmi", "prompt=examples", "prompt.k=2", "prompt.per=split"]
    evaluate(tmp_path / "one", arguments, monkeypatch)
    start(tmp_path / "two", arguments, monkeypatch)
    one, two = (json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("one", "two"))
    for name in ("signature", "metrics", "backward", "blind", "gain", "facts", "data"):
        assert one[name] == two[name]
    for file in (
        "predictions.jsonl",
        "predictions_backward.jsonl",
        "predictions_blind.jsonl",
        "log_probabilities.jsonl",
    ):
        rows, others = lines(tmp_path / "one" / file), lines(tmp_path / "two" / file)
        assert [row["id"] for row in rows] == [row["id"] for row in others]
        for row, other in zip(rows, others, strict=True):
            assert row.get("choice") == other.get("choice")
            assert row.get("scores") == pytest.approx(other.get("scores"), abs=1e-4)


class Idle(Processes):
    """A process that is not the first and reaches nobody."""

    def gather(self, found: Any) -> list[Any]:
        return []


@pytest.mark.parametrize("format", ["causal", "pll", "dual"])
def test_a_process_without_items_finds_and_writes_nothing(tmp_path: Path, format: str) -> None:
    tokenizer = masked_models.word_pieces()
    network = (
        masked_models.network("bert", tokenizer) if format != "causal" else causal_models.network("llama")
    )
    scoring = None if format == "dual" else asdict(ScoringConfig())
    manifest = Manifest(
        "tiny", "nothing", "none", format, "clean", 80, 20.0, 2, "nothing", "none", None, scoring
    )
    loaded = Loaded(network.base_model if format == "dual" else network, tokenizer, manifest)
    split = Split("two", tuple(ITEMS[:2]), "here", "0")
    assert predict(loaded, split, tmp_path, How(processes=Idle(1, 2)))["model"] == "tiny"
    assert list(tmp_path.iterdir()) == []
