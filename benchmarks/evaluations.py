"""Finished evaluations of systems that do not exist, to measure what compare and report take of many systems
and items.

`python benchmarks/evaluations.py FOLDER SYSTEMS ITEMS` writes them by the product's own writers, and prints
their folders.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from figlang.config import DataConfig, PathsConfig
from figlang.runs import results
from figlang.runs.predictions import BLIND, FORWARD, MEASURED, write_predictions
from figlang.statistics.comparison import compare
from figlang.statistics.metrics import measure
from figlang.tasks import registry as data
from figlang.types import Prediction, Split

CATEGORIES = ("objects", "visual", "social", "cultural")


def items(folder: Path, count: int) -> tuple[DataConfig, Split]:
    """A table in Fig-QA's form, with pairs of metaphors that share their endings."""
    file = folder / "items.csv"
    lines = ["startphrase,ending1,ending2,labels"]
    for place in range(count):
        pair = place // 2
        thing = (
            f"The plan was like a {'house of cards' if place % 2 else 'wall of stone'} in the wind of "
            f"year {pair}"
        )
        lines.append(
            f'"{thing}","It was firm and stood for {pair} days","It fell down within {pair} days",{place % 2}'
        )
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = DataConfig(name="synthetic", dataset="figqa_csv", train=str(file), validation=str(file))
    return settings, data.load("validation", settings, PathsConfig())


def evaluation(folder: Path, number: int, settings: DataConfig, split: Split) -> None:
    """One evaluation; systems are right in 50 to 95 % of the cases, and hard items are hard for all of
    them."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(number)
    hard_N = np.random.default_rng(999).normal(size=len(split.items))
    skill = draw.uniform(0, 1.6)
    ahead_N = draw.normal(skill - 0.7 * hard_N, 1.0)
    margins_N, seen, blind, measured = np.round(ahead_N, 6).tolist(), [], [], []
    for place, (item, margin) in enumerate(zip(split.items, margins_N, strict=True)):
        assert item.gold is not None
        base = -20.0 - place % 7
        scores = (base + margin, base) if item.gold == 0 else (base, base + margin)
        attributes = {"commonsense": tuple(name for bit, name in enumerate(CATEGORIES) if place >> bit & 1)}
        seen.append(Prediction(item.id, item.group, item.gold, scores, attributes))
        alone = (-9.0 - place % 5, -8.5 - place % 3)
        blind.append(Prediction(item.id, item.group, item.gold, alone, attributes))
        sums = [[score, 20, 60] for score in scores]
        row = {
            "id": item.id,
            "whole": sums,
            "answer": sums,
            "answer_alone": [[one, 8, 30] for one in alone],
            "metaphor_alone": None,
        }
        measured.append(json.dumps(row))
    write_predictions(folder / FORWARD, seen)
    write_predictions(folder / BLIND, blind)
    (folder / MEASURED).write_text("\n".join(measured) + "\n", encoding="utf-8")
    content = {
        "signature": f"synthetic:{number}",
        "model": f"model-{number:03}",
        "data_name": "synthetic",
        "split": "validation",
        "published_file": False,
        "seed": 0,
        "facts": {
            "model": f"model-{number:03}",
            "scoring": "answer",
            "norm": "mean",
            "prompt": "none",
            "trained": "nothing@none",
        },
        "command": f"python evaluate.py model=model-{number:03} data=synthetic",
        "versions": {"python": "3"},
        "metrics": measure(seen),
        "blind": measure(blind),
        "gain": asdict(compare(seen, blind)[0]),
        "data": results.about_data(settings, {"validation": split}, ()),
    }
    results.write(folder / "metrics.json", content)


def write(folder: Path, systems: int, count: int) -> list[Path]:
    """The folders of so many evaluations of so many items each."""
    folder.mkdir(parents=True)
    settings, split = items(folder, count)
    found = [folder / f"system-{number:03}" for number in range(systems)]
    for number, each in enumerate(found):
        evaluation(each, number, settings, split)
    return found


if __name__ == "__main__":
    print(*write(Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])), sep="\n")
