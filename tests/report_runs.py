"""Evaluations with known errors on the bundled sample, and reports about them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, ReportConfig
from figlang.reports import assembly
from figlang.runs import results
from figlang.runs.predictions import write_predictions
from figlang.statistics.metrics import measure
from figlang.types import Prediction, Split

SAMPLE = DataConfig(root="package:figlang/samples")


def run(
    folder: Path, split: Split, wrong: int, seed: int | None = None, items: int = 560, **facts: str
) -> str:
    """The folder of an evaluation on the sample in which every `wrong`-th item is wrong; with a seed, of a
    training."""
    folder.mkdir(parents=True)
    rows = []
    for place, item in enumerate(split.items):
        assert item.gold is not None
        ahead = item.gold if place % wrong else 1 - item.gold
        scores = (1 + place / 99, 0.0) if ahead == 0 else (0.0, 1 + place / 99)
        rows.append(Prediction(item.id, item.group, item.gold, scores, dict(item.attributes)))
    write_predictions(folder / "predictions.jsonl", rows)
    known = {
        "model": "tiny",
        "base": "tiny",
        "scoring": "pair",
        "norm": "none",
        "method": "contrastive",
        "trained": f"sample@{seed}",
        "train_seed": seed,
        "prompt": "none",
        **facts,
    }
    content: dict[str, Any] = {
        "signature": "a:b",
        "model": "tiny",
        "data_name": "figqa_sample",
        "split": "validation",
        "published_file": False,
        "seed": 0,
        "facts": known,
        "command": "python train.py",
        "versions": {"python": "3"},
        "metrics": measure(rows),
        "data": results.about_data(SAMPLE, {"train": split, "validation": split}, ()),
    }
    if seed is not None:
        settings = {"seed": seed, "data": asdict(SAMPLE), "model": {"name": "tiny"}}
        recipe = {"settings": settings, "data": {"train": str(items), "validation": split.sha256}}
        (folder / "recipe.json").write_text(json.dumps(recipe))
        (folder / "log.csv").write_text(
            "step,epoch,split,metric,value\n1,0,train,loss,0.7\n1,0,validation,accuracy,0.5\n"
        )
        content["data"]["train"]["items"] = items
        content |= {"training": {"epochs": 1}, "health": []}
    results.write(folder / "metrics.json", content)
    return str(folder)


def report(folder: Path, *runs: str, **more: Any) -> str:
    return assembly.write(ReportConfig(list(runs), analysis="off", **more), folder).read_text(
        encoding="utf-8"
    )


def two_runs(folder: Path, split: Split) -> Path:
    """The folder of a report about two evaluations, of which one has a prompt."""
    runs = [run(folder / "one", split, 4), run(folder / "two", split, 3, prompt="suffix(suffix='x')")]
    report(folder / "out", *runs)
    return folder / "out"
