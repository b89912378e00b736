"""Evaluating a loaded network on a split and writing what is found: predictions.jsonl, metrics.json, the tables."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import checkpoint, evaluation, metrics, reference, report, signature
from figlang.checkpoint import Loaded
from figlang.data import figqa
from figlang.evaluation import read_predictions, write_predictions
from figlang.types import Split


def evaluate(loaded: Loaded, split: Split, predictions: Path, batch_size: int, progress: bool) -> None:
    """Predictions of a split into a file."""
    rows = evaluation.predict(loaded.network, loaded.score, loaded.encoder, split.items, batch_size, progress)
    write_predictions(predictions, rows)


def describe(split: Split) -> dict[str, Any]:
    """A split as metrics.json names it."""
    return {
        "name": split.name,
        "source": split.source,
        "sha256": split.sha256,
        "items": len(split.items),
        "notes": list(split.notes),
    }


def document(
    loaded: Loaded, split: Split, role: str, data: str, predictions: Path, seed: int, more: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of metrics.json. The numbers come from the predictions file alone."""
    facts = {
        "data": f"{data}@{split.sha256[:8]}",
        "split": role,
        "n": len(split.items),
        **checkpoint.facts(loaded.recipe),
        "precision": str(loaded.network.dtype).removeprefix("torch."),
        "seed": seed,
    }
    return {
        "signature": signature.signature(facts),
        "seed": seed,
        "metrics": metrics.measure(read_predictions(predictions), seed),
        "recipe": asdict(loaded.recipe),
        "command": command(),
        "versions": signature.versions(),
        **more,
    }


def write(path: Path, content: Mapping[str, Any]) -> None:
    """metrics.json, written beside and renamed: a run folder that has it is finished."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)


def comparisons(split: Split, role: str, data: str) -> list[reference.Comparison]:
    """Published numbers beside this evaluation."""
    published = split.sha256 in {digest for _, digest in figqa.FILES.values()}
    return reference.fig_qa(data, role, published)


def show(content: Mapping[str, Any], split: Split, role: str, data: str, folder: Path, console: Console) -> None:
    """The tables of one evaluation, its signature and where it is."""
    compared = comparisons(split, role, data)
    report.published(compared, console)
    report.summary(content["metrics"], compared, f"{content['recipe']['name']} on {data}, {role}", console)
    console.print(f"signature {content['signature']}", style="dim", soft_wrap=True, highlight=False, markup=False, emoji=False)
    console.print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


def evaluation_folder(checkpoint: str, runs: str, name: str) -> Path:
    """Where an evaluation goes: into the run folder or beside the exported folder, else below the folder of runs."""
    folder = Path(checkpoint)
    if (folder / "recipe.json").is_file() or (folder / "model").is_dir():
        return folder / "evaluations" / name
    return Path(runs) / "evaluations" / checkpoint.strip("/.~").replace("/", "~").replace(":", "~") / name


def command() -> str:
    """The command line that is running, as a shell would take it."""
    return shlex.join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
