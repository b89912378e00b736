"""The cells of a grid, each a prompt on the same items: their files, and what scoring them took."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from figlang.errors import FiglangError
from figlang.predictions import read_predictions, write_predictions
from figlang.scoring.requests import Scored
from figlang.types import Prediction

Asked = TypeVar("Asked")


class Cells:
    """Writes cells below a folder, by name, and counts: `tokens` that reading every request by itself takes, and those `read`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = time.perf_counter()
        self.tokens = self.read = 0

    def write(self, name: str, predictions: Iterable[Prediction], records: Iterable[Mapping[str, Any]]) -> None:
        """A cell's predictions, and what they are made of, item by item."""
        write_predictions(_file(self._folder, "predictions", name), predictions)
        with _file(self._folder, "log_probabilities", name).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in records)

    def count(self, scored: Scored) -> None:
        """Add what a scoring read."""
        self.tokens, self.read = self.tokens + scored.tokens, self.read + scored.read

    def took(self) -> dict[str, Any]:
        """Tokens, seconds since the beginning, and the ratio that sharing saved, if anything was scored."""
        seconds = time.perf_counter() - self._started
        ratio = self.tokens / self.read if self.read else None
        return {"tokens": self.tokens, "read": self.read, "ratio": ratio, "seconds": seconds}


def read(folder: Path, names: Iterable[str]) -> dict[str, list[Prediction]]:
    """The predictions of cells, by name, from their files."""
    return {name: read_predictions(_file(folder, "predictions", name)) for name in names}


def one_by_one(score: Callable[[Sequence[Asked]], Scored], parts: Sequence[Sequence[Asked]], questions: int) -> dict[str, Any]:
    """Seconds for all that these questions need scored together, and part by part, with the largest difference."""
    score(parts[0])
    started = time.perf_counter()
    together = score([each for part in parts for each in part])
    middle = time.perf_counter()
    apart = [log_probs for part in parts for log_probs in score(part).log_probs]
    ended = time.perf_counter()
    differences = [float((one - other).abs().max()) for one, other in zip(together.log_probs, apart, strict=True)]
    return {
        "questions": questions,
        "together_seconds": middle - started,
        "one_by_one_seconds": ended - middle,
        "ratio": (ended - middle) / (middle - started),
        "largest_difference": max(differences),
    }


def _file(folder: Path, kind: str, name: str) -> Path:
    path = folder / kind / f"{name}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FiglangError(f"cannot write to {folder} ({error.strerror}); choose another folder with output=DIR") from error
    return path
