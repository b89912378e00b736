"""The results of an evaluation: metrics.json from the predictions files."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, signature
from figlang.files.redaction import redacted
from figlang.files.sources import sha256
from figlang.files.whole import write_text
from figlang.runs import recomputed
from figlang.tasks import registry
from figlang.types import Split

# Files from which numbers are computed: predictions, what they are made of, the cells of a grid.
COUNTED = (
    "*.jsonl",
    *(f"{kind}/*.jsonl" for kind in ("predictions", "blind", "log_probabilities", "replies", "rankings")),
)


@dataclass(frozen=True)
class Evaluated:
    """A model on a split.

    Attributes:
        name: Name of the model.
        facts: Everything that can change a score.
        split: The items.
        role: train, validation or test.
        data: Name of the preset.
        seed: Seed of the evaluation.
    """

    name: str
    facts: Mapping[str, Any]
    split: Split
    role: str
    data: str
    seed: int

    def document(self, folder: Path, search: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The content of metrics.json. Its numbers come from the predictions files in the folder alone.

        `search` says which items share text with training items, if it is known.
        """
        return self.about() | recomputed.measured(folder, search)

    def about(self) -> dict[str, Any]:
        """The part of metrics.json without metrics: what was evaluated, how, and by which command."""
        labels = "" if self.split.labels_sha256 is None else f"+labels@{self.split.labels_sha256[:8]}"
        drawn = f"({self.split.drawn})" if self.split.drawn else ""
        data = f"{self.data}@{self.split.sha256[:8]}{drawn}{labels}"
        published = registry.task(self.split.task).published_files(self.split, self.role)
        where = {"data": data, "split": self.role, "n": len(self.split.items)}
        return {
            "signature": redacted(signature.signature({**where, **self.facts, "seed": self.seed})),
            "model": self.name,
            "data_name": self.data,
            "task": self.split.task,
            "split": self.role,
            # Numbers on a part of a file, or on another file, are not compared with published ones.
            "published_file": self.split.whole and self.split.sha256 in published,
            "seed": self.seed,
            "facts": dict(self.facts),
            "command": redacted(f"{signature.program()} {shlex.join(sys.argv[1:])}".rstrip()),
            "versions": signature.versions(),
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


def about_data(data: DataConfig, splits: Mapping[str, Split], notes: Sequence[str]) -> dict[str, Any]:
    """The part `data` of metrics.json: each split, and the settings by which its items are found again."""
    return {
        **{role: describe(split) for role, split in splits.items()},
        "settings": asdict(data),
        "notes": list(notes),
    }


def write(path: Path, content: Mapping[str, Any], counted: Path | None = None) -> None:
    """Write metrics.json, whole or not at all. A run folder that has it is finished.

    Args:
        path: The file.
        content: Its content. The hashes of the files that its numbers come from are added.
        counted: Folder of these files, if it is not that of `path`.
    """
    folder = counted or path.parent
    counted_files = sorted(file for pattern in COUNTED for file in folder.glob(pattern) if file.is_file())
    files = {file.relative_to(folder).as_posix(): sha256(file) for file in counted_files}
    write_text(path, json.dumps({**content, "files": files}, indent=2, ensure_ascii=False) + "\n")
