"""The cells of a grid, each a prompt on the same items: their files, and what scoring them took."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from figlang.config import EvaluateConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.files.whole import slug, write_lines, write_text
from figlang.runs import outputs
from figlang.runs import predictions as predicted
from figlang.runs.predictions import read_predictions, write_predictions
from figlang.scoring.requests import Scored
from figlang.types import Prediction

log = logging.getLogger("figlang")

Asked = TypeVar("Asked")

MADE_BY = "cells.txt"  # in a grid's folder: what its cells depend on


def claim(folder: Path, signature: str, config: EvaluateConfig, kept: Sequence[str]) -> None:
    """Clear a locked folder of the cells, which fit the patterns `kept`, unless an earlier run with this
    signature and these settings of the data left them: interrupted, finished or replaced, its cells need not
    be made again.

    Raises FiglangError if the folder holds a finished result of another signature or other settings, unless
    it may be replaced.
    """
    # Parts of speech, for example, depend on settings of the data that a score does not, and its signature
    # leaves them out.
    made_by, mark, finished = (
        f"{signature} {digest(asdict(config.data))}",
        folder / MADE_BY,
        folder / "metrics.json",
    )
    same = mark.is_file() and mark.read_bytes() == made_by.encode()
    before = str(outputs.finished(folder).get("signature", "damaged")) if finished.is_file() else signature
    if not config.overwrite and finished.is_file() and not (same and before == signature):
        changed = set(signature.split("|")) ^ set(before.split("|")) or {"data settings"}
        raise FiglangError(
            f"{folder} holds a finished result with other settings ({', '.join(sorted(changed))}); choose "
            "another folder with "
            "output=DIR, or replace it with overwrite=true"
        )
    if same:
        return
    # First what says that the rest is whole.
    for path in (finished, mark, *(path for pattern in kept for path in folder.glob(pattern))):
        path.unlink(missing_ok=True)
    write_text(mark, made_by)


def left(folder: Path, kind: str, names: Iterable[str]) -> list[str]:
    """The cells that an earlier run left in a claimed folder."""
    found = [name for name in names if (folder / kind / f"{name}.jsonl").is_file()]
    if found:
        log.info("%s: %s there already, of an earlier run", folder, ", ".join(found))
    return found


def took_before(folder: Path, made: bool) -> dict[str, Any]:
    """What a finished folder says that its cells took; nothing if cells had to be `made` now, or it is not
    finished."""
    took: dict[str, Any] = {} if made else outputs.finished(folder).get("took", {})
    return took if isinstance(took, dict) else {}


class Cells:
    """Writes cells below a folder, by name, and counts: `tokens` that reading every request by itself takes,
    and those `read`.

    `kept` are the names of cells that are there already and not counted.
    """

    def __init__(self, folder: Path, kept: Sequence[str] = ()) -> None:
        self._folder, self.kept, self._made = folder, kept, False
        self._started = time.perf_counter()
        self.tokens = self.read = 0

    def write(
        self,
        name: str,
        predictions: Iterable[Prediction],
        records: Iterable[Mapping[str, Any]],
        kind: str = "log_probabilities",
    ) -> None:
        """A cell's predictions, and what they are made of, item by item; the predictions last, so that they
        say it is whole."""
        lines, predictions = predicted.records(records), list(predictions)
        predicted.check_finite(predictions)
        write_lines(_file(self._folder, kind, name), lines)
        write_predictions(_file(self._folder, "predictions", name), predictions)
        self._made = True

    def count(self, scored: Scored) -> None:
        """Add what a scoring read."""
        self.tokens, self.read = self.tokens + scored.tokens, self.read + scored.read

    def took(self) -> dict[str, Any]:
        """Tokens, seconds since the beginning, and the ratio that sharing saved, if anything was scored; see
        `took_before`."""
        seconds = time.perf_counter() - self._started
        ratio = self.tokens / self.read if self.read else None
        now = {
            "tokens": self.tokens,
            "read": self.read,
            "ratio": ratio,
            "seconds": seconds,
            "kept": list(self.kept),
        }
        return now | took_before(self._folder, self._made)


def read(folder: Path, names: Iterable[str]) -> dict[str, list[Prediction]]:
    """The predictions of cells, by name, from their files."""
    return {name: read_predictions(_file(folder, "predictions", name)) for name in names}


def one_by_one(
    score: Callable[[Sequence[Asked]], Scored], parts: Sequence[Sequence[Asked]], questions: int
) -> dict[str, Any]:
    """Seconds for all that these questions need scored together, and part by part, with the largest
    difference."""
    score(parts[0])
    started = time.perf_counter()
    together = score([each for part in parts for each in part])
    middle = time.perf_counter()
    apart = [log_probs for part in parts for log_probs in score(part).log_probs]
    ended = time.perf_counter()
    differences = [
        float((one - other).abs().max()) for one, other in zip(together.log_probs, apart, strict=True)
    ]
    return {
        "questions": questions,
        "together_seconds": middle - started,
        "one_by_one_seconds": ended - middle,
        "ratio": (ended - middle) / (middle - started),
        "largest_difference": max(differences),
    }


def _file(folder: Path, kind: str, name: str) -> Path:
    folders.check_place(folder / kind)
    path = folder / kind / f"{slug(name)}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FiglangError(
            f"cannot write to {folder} ({error.strerror}); choose another folder with output=DIR"
        ) from error
    return path
