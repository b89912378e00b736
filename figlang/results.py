"""One evaluation from network to report: predictions.jsonl, metrics.json, the tables."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import evaluation, metrics, reference, report, runtime, signature
from figlang.checkpoint import Loaded
from figlang.config import EvaluateConfig
from figlang.data import figqa
from figlang.errors import FiglangError, one_line
from figlang.models import networks
from figlang.scoring import likelihood
from figlang.scoring.causal import CausalScorer
from figlang.types import Split


@dataclass(frozen=True)
class Evaluated:
    """A model on a split. `facts` are what can change a score; `role` is train, validation or test, `data` a preset's name."""

    name: str
    facts: Mapping[str, Any]
    split: Split
    role: str
    data: str
    seed: int

    def document(self, predictions: Path, backward: Path | None = None) -> dict[str, Any]:
        """The content of metrics.json. Its numbers come from the predictions files alone."""
        labels = "" if self.split.labels_sha256 is None else f"+labels@{self.split.labels_sha256[:8]}"
        where = {"data": f"{self.data}@{self.split.sha256[:8]}{labels}", "split": self.role, "n": len(self.split.items)}
        measured = {"metrics": metrics.measure(evaluation.read_predictions(predictions), self.seed)}
        if backward is not None:
            measured["backward"] = metrics.measure(evaluation.read_predictions(backward), self.seed)
        return {
            "signature": signature.signature({**where, **self.facts, "seed": self.seed}),
            "model": self.name,
            "data_name": self.data,
            "split": self.role,
            # Numbers on a part of a file, or on another file, are not beside published ones.
            "published_file": self.split.whole and self.split.sha256 == figqa.FILES.get(self.role, ("", ""))[1],
            "seed": self.seed,
            **measured,
            "facts": dict(self.facts),
            "command": shlex.join(["python", Path(sys.argv[0]).name, *sys.argv[1:]]),
            "versions": signature.versions(),
        }


def show(content: Mapping[str, Any], folder: Path, console: Console) -> None:
    """The tables of a metrics.json, its signature, and the folder it is in."""
    compared = reference.fig_qa(content["data_name"], content["split"], content["published_file"])
    report.published(compared, console)
    report.summary(content, compared, f"{content['model']} on {content['data_name']}, {content['split']}", console)
    for line, style in ((f"signature {content['signature']}", "dim"), (str(folder), "bold")):
        console.print(line, style=style, soft_wrap=True, highlight=False, markup=False, emoji=False)


def predict(loaded: Loaded, split: Split, path: Path, progress: bool, batch_size: int = 64) -> None:
    """Predictions of a fine-tuned network for all items into a file."""
    rows = evaluation.predict(loaded.network, loaded.score, loaded.encoder, split.items, batch_size, progress)
    evaluation.write_predictions(path, rows)


def predict_zero_shot(config: EvaluateConfig, split: Split, folder: Path) -> dict[str, Any]:
    """Both directions of a pretrained causal model into files; returns what can change its scores."""
    network, tokenizer = networks.causal(config.model, config.paths.cache)
    network.to(runtime.device(config.trainer))
    bos = config.model.bos if config.scoring.bos is None else config.scoring.bos
    scorer = CausalScorer(network, tokenizer, bos, config.scoring.overflow)
    found = likelihood.choose(scorer, split.items, config.scoring, config.trainer.progress)
    evaluation.write_predictions(folder / "predictions.jsonl", found.forward)
    evaluation.write_predictions(folder / "predictions_backward.jsonl", found.backward)
    with (folder / "log_probabilities.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in found.measured)
    scoring = config.scoring
    return {
        "model": config.model.name,
        "base": config.model.name_or_path,
        "method": "zero-shot",
        "scoring": f"{scoring.name}(span={scoring.span},backward={scoring.backward_span},minus_alone={scoring.minus_alone})",
        "norm": scoring.norm,
        "prompt": repr(scoring.suffix) if scoring.suffix else "none",
        "text": f"{scoring.text}(join={scoring.join!r},end={scoring.end!r})",
        "bos": bos,
        "precision": config.model.dtype,
    }


def describe(split: Split) -> dict[str, Any]:
    """A split as metrics.json names it."""
    return {
        "name": split.name,
        "source": split.source,
        "sha256": split.sha256,
        "items": len(split.items),
        "labels_sha256": split.labels_sha256,
    }


def write(path: Path, content: Mapping[str, Any]) -> None:
    """metrics.json, written beside and renamed: a run folder that has it is finished."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)


def read(path: Path) -> dict[str, Any]:
    """The content of a metrics.json; FiglangError if it is none."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = {"signature", "metrics", "model", "data_name", "split", "published_file", "seed"} - content.keys()
    except (OSError, ValueError, AttributeError) as error:
        raise FiglangError(f"{path} is damaged ({one_line(error)}); overwrite=true runs it again") from error
    if missing:
        raise FiglangError(f"{path} is damaged (no {', '.join(sorted(missing))}); overwrite=true runs it again")
    return content


def evaluation_folder(config: EvaluateConfig) -> Path:
    """Where an evaluation goes: `output`, else into the run folder, else below the folder of runs."""
    limited = "" if config.data.limit is None else f"-first{config.data.limit}"
    labelled = "" if config.data.test_labels is None else "-labelled"
    name = f"{config.data.name}-{config.split}{limited}{labelled}"
    if config.output is not None:
        folder = Path(config.output)
    elif config.checkpoint is None:
        scoring = f"-{config.scoring.name}" if config.model.family == "causal" else ""
        folder = Path(config.paths.runs) / "evaluations" / f"{config.model.name}{scoring}" / name
    elif (Path(config.checkpoint) / "recipe.json").is_file():
        folder = Path(config.checkpoint) / "evaluations" / name
    else:
        folder = Path(config.paths.runs) / "evaluations" / config.checkpoint.strip("/.~").replace("/", "~").replace(":", "~") / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FiglangError(f"cannot write to {folder} ({error.strerror}); choose another folder with output=DIR") from error
    return folder
