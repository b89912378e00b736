"""The table of trainings: ratios, shares and the file of it."""

import csv
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import trainings
from benchmarks.rivals import Training, scores
from figlang.config import PromptConfig, ScoringConfig, TrainConfig
from figlang.scoring.requests import RequestEncoder
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringEncoder, StringScorer
from figlang.scoring.wording import Wording
from figlang.types import Item
from tests.causal_models import network, tokenizer
from tests.conftest import published

# CPU seconds of each seed.
OURS, THEIRS = [2.0, 4.0], [6.0, 8.0]


def figlang(config: TrainConfig) -> Training:
    return Training(3.0, OURS[config.seed], 900.4, tokens=100, work=6e9)


def rival(config: TrainConfig) -> Training:
    return Training(6.0, THEIRS[config.seed], 1800.0)


def test_rounds_are_summed_up_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = published("figqa/filtered/train.csv")
    monkeypatch.setattr(trainings, "SIDES", {"figlang": figlang, "sentence-transformers": rival})
    monkeypatch.setattr(trainings, "product_rate", lambda *_, **__: 4e9)
    in_this_process: Any = lambda *_: ThreadPoolExecutor(1)  # noqa: E731
    monkeypatch.setattr(trainings, "ProcessPoolExecutor", in_this_process)
    output = tmp_path / "not" / "yet" / "rows.csv"
    words = ["--models", "minilm", "--ways", "dual", "--batch-size", "8", "32", "--items", "0.1"]
    monkeypatch.setattr(sys, "argv", ["bench", "--data", data, "--output", str(output), *words])
    trainings.main()
    rows = list(csv.DictReader(output.read_text(encoding="utf-8").splitlines()))
    assert [row["setting"] for row in rows] == [
        f"MiniLM `dual`, {weights}, batch {batch}" for weights in ("LoRA", "all weights") for batch in (8, 32)
    ]
    # 24 items in 3 and in 7 CPU seconds; 6e9 operations in these, where 4e9 a second are possible
    assert list(rows[0].values())[1:11] == [
        *("sentence-transformers", "8.0", "3.4", "2.50", "2.00", "3.00", "50", "21", "900", "1800"),
    ]
    given = "--models minilm --ways dual --peft lora --batch-size 8 --rounds 2 --items 0.1"
    assert (rows[0]["command"], rows[0]["seed"]) == (f'make bench ARGS="{given}"', "0,1")
    assert rows[0]["data"].startswith("figqa_medium @")


def test_the_plain_loop_learns_what_figlang_learns() -> None:
    answers = ("it was hot", "it was very cold")
    items = [Item("1", "1", "the room was an oven", answers, 0), Item("2", "1", "it was ice", answers, 1)]
    built, encoded = network("llama"), []
    for sharing in (True, False):
        wording = Wording(ScoringConfig(), PromptConfig())
        encoder = StringEncoder(RequestEncoder(tokenizer(), "add"), wording, sharing)
        encoded.append(encoder.collate(encoder.encode_pairs(items)))
    shared, whole = encoded
    assert whole.inputs["input_ids"].shape[0] == 4, "each string is a row"
    assert whole.gold.tolist() == [0, 1, 0, 1]
    logits_NTV = built(**whole.inputs).logits
    ours_BC = StringScorer(dissect(built))(built, shared)
    torch.testing.assert_close(scores(logits_NTV, whole), ours_BC, atol=1e-4, rtol=0)
