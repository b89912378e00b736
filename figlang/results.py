"""One evaluation from network to report: predictions.jsonl, metrics.json, the tables."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import checkpoint, evaluation, metrics, reference, report, signature
from figlang.checkpoint import Loaded
from figlang.config import EvaluateConfig
from figlang.data import figqa
from figlang.errors import FiglangError
from figlang.types import Split


@dataclass(frozen=True)
class Evaluated:
    """A loaded network on a split; `role` is train, validation or test, `data` the name of the preset."""

    loaded: Loaded
    split: Split
    role: str
    data: str
    seed: int

    def predict(self, path: Path, progress: bool, batch_size: int = 64) -> None:
        """Predictions of all items into a file."""
        loaded = self.loaded
        rows = evaluation.predict(loaded.network, loaded.score, loaded.encoder, self.split.items, batch_size, progress)
        evaluation.write_predictions(path, rows)

    def document(self, predictions: Path) -> dict[str, Any]:
        """The content of metrics.json. Its numbers come from the predictions file alone."""
        recipe = self.loaded.recipe
        facts = {
            "data": f"{self.data}@{self.split.sha256[:8]}",
            "split": self.role,
            "n": len(self.split.items),
            **checkpoint.facts(recipe),
            "precision": str(self.loaded.network.dtype).removeprefix("torch."),
            "seed": self.seed,
        }
        return {
            "signature": signature.signature(facts),
            "seed": self.seed,
            "metrics": metrics.measure(evaluation.read_predictions(predictions), self.seed),
            "recipe": asdict(recipe),
            "command": shlex.join(["python", Path(sys.argv[0]).name, *sys.argv[1:]]),
            "versions": signature.versions(),
        }

    def comparisons(self) -> list[reference.Comparison]:
        """Published numbers beside this evaluation; comparable only if it is on the whole published file."""
        published = self.split.whole and self.split.sha256 == figqa.FILES.get(self.role, ("", ""))[1]
        return reference.fig_qa(self.data, self.role, published)

    def show(self, content: Mapping[str, Any], folder: Path, console: Console) -> None:
        """The tables, the signature, and where everything is."""
        compared = self.comparisons()
        report.published(compared, console)
        report.summary(content["metrics"], compared, f"{self.loaded.recipe.name} on {self.data}, {self.role}", console)
        for line, style in ((f"signature {content['signature']}", "dim"), (str(folder), "bold")):
            console.print(line, style=style, soft_wrap=True, highlight=False, markup=False, emoji=False)


def describe(split: Split) -> dict[str, Any]:
    """A split as metrics.json names it."""
    return {"name": split.name, "source": split.source, "sha256": split.sha256, "items": len(split.items)}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """metrics.json, written beside and renamed: a run folder that has it is finished."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)


def evaluation_folder(config: EvaluateConfig) -> Path:
    """Where an evaluation goes: `output`, else into the run folder, else below the folder of runs."""
    name = f"{config.data.name}-{config.split}"
    source = Path(config.checkpoint)
    if config.output is not None:
        folder = Path(config.output)
    elif (source / "recipe.json").is_file():
        folder = source / "evaluations" / name
    else:
        folder = Path(config.paths.runs) / "evaluations" / config.checkpoint.strip("/.~").replace("/", "~").replace(":", "~") / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FiglangError(f"cannot write to {folder} ({error.strerror}); choose another folder with output=DIR") from error
    return folder
