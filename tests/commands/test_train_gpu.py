"""A training on a GPU: each way of training runs there, and its export scores there as on a CPU.

Without a GPU the same lines run on the CPU, as far as they go.
"""

import json
from pathlib import Path

import pytest

from figlang.config import TrainerConfig
from figlang.evaluation import runtime
from tests import running

pytestmark = pytest.mark.gpu
DEVICE = runtime.device(TrainerConfig())
ON_IT = ["trainer=auto", "trainer.threads=1"]
CAUSAL = ["model=gpt2", "method.direction=both"]
WAYS = {
    "pair": ["model=bert"],
    "dual with adapters": ["model=minilm", "method.format=dual", "peft=lora"],
    "a step's texts": ["model=minilm", "method.format=dual", "method.negatives=batch", "method.l2_sp=0.1"],
    "read twice, averaged": ["model=bert", "method.r_drop=1", "method.ema=0.5"],
    "causal": CAUSAL,
    "causal, adapters": [*CAUSAL, "peft=lora", "method.anchor=lm"],
    "near what it was": [*CAUSAL, "method.anchor=positive"],
    "near its base": [*CAUSAL, "method.anchor=kl", "method.anchor_data=figqa_sample"],
    "language model": ["model=gpt2", "method=lm"],
    "parts, again": ["model=gpt2", "method.accumulate=2", "method.checkpointing=true"],
}


def scores(folder: Path) -> list[float]:
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    return [score for row in rows for score in row["scores"]]


@pytest.mark.parametrize("way", WAYS)
def test_its_export_scores_as_on_a_cpu(tmp_path: Path, way: str) -> None:
    run, cpu = tmp_path / "run", tmp_path / "cpu"
    trained = running.run(
        tmp_path, "train.py", *running.TINY, *ON_IT, "data=figqa_sample", *WAYS[way], f"run={run}"
    )
    assert trained.returncode == 0, trained.stderr
    read = running.run(
        tmp_path,
        "evaluate.py",
        f"checkpoint={run}",
        "data=figqa_sample",
        "data.limit=32",
        "trainer=cpu",
        f"output={cpu}",
        "trainer.progress=false",
    )
    assert read.returncode == 0, read.stderr
    assert scores(run) == pytest.approx(scores(cpu), abs=2e-2)


def test_it_trains_in_half_precision(tmp_path: Path) -> None:
    ended = running.run(
        tmp_path,
        "train.py",
        *running.TINY,
        *ON_IT,
        "trainer.precision=bf16-mixed",
        "data=figqa_sample",
        "model=gpt2",
        "peft=lora",
    )
    assert ended.returncode == 0, ended.stderr
