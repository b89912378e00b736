"""Memory and speed of trainings by setting, and the estimate of memory beside what was measured.

`python benchmarks/memory.py --data DIR --output FILE.csv --gemma FILE.gguf`. Each row is a training of 32
items of Fig-QA medium in steps of 8 (encoders: 32 and 16), one epoch, float32, one thread, in a process of
its own. Losses of a network without dropout are equal where only the memory differs. MPNet is read from the
cache of the hub.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.evaluation import runtime
from figlang.runs.training import Run
from figlang.tasks.registry import for_training
from figlang.training import fitting, foresight
from figlang.training.preparation import prepare

COMMON = [
    *("data=figqa_medium", "data.limit=32", "trainer=cpu", "trainer.progress=false", "trainer.threads=1"),
    *("trainer.precision=32-true", "method.epochs=1"),
]
SMOLLM2 = ["model=smollm2", "method.batch_size=8"]
LORA = [*SMOLLM2, "peft=lora", "peft.dropout=0"]
MINILM = ["model=minilm", "method.format=pair", "method.batch_size=32"]
MPNET = ["model=mpnet", "method.format=pair", "method.batch_size=16"]
GEMMA = ["model=gemma", "model.bos=add", "method.batch_size=8"]
PARTS, AGAIN = "method.accumulate=4", "method.checkpointing=true"
SETTINGS = [
    *(SMOLLM2, [*SMOLLM2, PARTS], [*SMOLLM2, AGAIN]),
    *([*SMOLLM2, "method.optimizer=lion"], [*SMOLLM2, "method.optimizer=muon"]),
    [*SMOLLM2, "method.optimizer=schedule_free", "method.schedule=constant"],
    *(LORA, [*LORA, PARTS], [*LORA, AGAIN], [*LORA, PARTS, AGAIN]),
    *(MINILM, [*MINILM, PARTS], [*MINILM, AGAIN]),
    *(MPNET, [*MPNET, PARTS], [*MPNET, "peft=lora"]),
]
GEMMA_LORA = [*GEMMA, "peft=lora", "peft.dropout=0"]
GEMMAS = [
    *(GEMMA, [*GEMMA, PARTS], [*GEMMA, AGAIN], [*GEMMA, "method.optimizer=lion"]),
    *(GEMMA_LORA, [*GEMMA_LORA, PARTS], [*GEMMA_LORA, AGAIN], [*GEMMA_LORA, PARTS, AGAIN]),
]


def measured(words: list[str], where: list[str]) -> dict[str, Any]:
    """Train once in this process, and say what it took. `where` are places on this machine."""
    foresight.MANY = 0  # small networks have an estimate too
    config = runtime.settled(compose("train", TrainConfig, [*COMMON, *words, *where]))
    runtime.start(config.seed, config.trainer)
    torch.set_num_threads(1)
    train, validation = for_training(config.data, config.paths)
    ready = prepare(config, train, validation)
    with tempfile.TemporaryDirectory() as folder:
        fitted = fitting.fit(config, Run(Path(folder)), ready)
    assert fitted is not None, "there is one process"
    loss = next(value for *_, split, name, value in fitted.history if (split, name) == ("train", "loss"))
    expected, peak = fitted.expected_memory_mb or 0.0, fitted.peak_memory_mb or 0.0
    return {
        "setting": " ".join(words),
        "peak (MB)": round(peak),
        "estimate (MB)": round(expected),
        "estimate / peak": f"{expected / peak:.2f}",
        "tokens/s": round(fitted.tokens_per_second),
        "loss": f"{loss:.5f}",
        "command": f"figlang train {' '.join([*COMMON, *words])}",
        "seed": config.seed,
        "data": f"figqa_medium @{train.sha256[:8]}",
        "figlang": version("figlang"),
        "machine": "one thread of a busy machine",
        "recorded": f"benchmarks/memory.py, {date.today()}",
        "note": "peak resident memory of the whole process; speed of a shared machine is a rough number",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", required=True, help="folder with the data sets")
    parser.add_argument("--output", required=True, help="CSV file that is written")
    parser.add_argument("--gemma", help="GGUF file of Gemma 3 270M; without it, its rows are left out")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        where = [f"paths.data={options.data}"]
        where += [f"model.name_or_path={options.gemma}"] if options.gemma else []
        print(json.dumps(measured(json.loads(options.one), where)))
        return
    Path(options.output).parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for words in [*SETTINGS, *(GEMMAS if options.gemma else [])]:
        command = [sys.executable, __file__, "--data", options.data, "--output", options.output]
        command += ["--gemma", options.gemma] if words in GEMMAS else []
        result = subprocess.run(
            [*command, "--one", json.dumps(words)], stdout=subprocess.PIPE, text=True, check=True
        )
        row = json.loads(result.stdout.splitlines()[-1])
        rows.append(row)
        print(row["setting"], row["peak (MB)"], row["estimate (MB)"], row["loss"], flush=True)
        with Path(options.output).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
