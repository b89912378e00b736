"""The cells of a grid: each is a prompt on the same items, with its files and the time that it took."""

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

MADE_BY = "cells.txt"  # this file in a grid's folder says what its cells depend on
# Folders of the predictions of cells, and of those with the context hidden.
SEEN, UNSEEN = "predictions", "blind"


def claim(folder: Path, signature: str, config: EvaluateConfig, kept: Sequence[str]) -> None:
    """Clear a locked folder of cells, unless they are of this signature and these settings of the data.

    Cells that an earlier run left, interrupted or finished, are then used again.

    Args:
        folder: The folder.
        signature: Signature of the grid.
        config: Its settings.
        kept: Patterns of the cells' files.

    Raises:
        FiglangError: If the folder holds a finished result with another signature or other settings, and may
            not be replaced.
    """
    # A score, and so its signature, does not depend on some settings of the data, for example on parts of
    # speech. But other columns do.
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
            f"{folder} holds a finished result with other settings ({', '.join(sorted(changed))}); "
            "choose another folder with output=DIR, or replace it with overwrite=true"
        )
    if same:
        return
    # First the files that say that the rest is complete.
    for path in (finished, mark, *(path for pattern in kept for path in folder.glob(pattern))):
        path.unlink(missing_ok=True)
    write_text(mark, made_by)


def left(folder: Path, names: Iterable[str], *kinds: str) -> list[str]:
    """The cells that an earlier run left in a claimed folder, with a file of each of these kinds."""
    existing = [name for name in names if all((folder / kind / f"{name}.jsonl").is_file() for kind in kinds)]
    if existing:
        log.info("%s: %s there already, of an earlier run", folder, ", ".join(existing))
    return existing


def took_before(folder: Path, made: bool) -> dict[str, Any]:
    """The time and tokens of the cells, from a finished folder.

    Empty if cells had to be `made` now, or if the folder is not finished.
    """
    took: dict[str, Any] = {} if made else outputs.finished(folder).get("took", {})
    return took if isinstance(took, dict) else {}


class Cells:
    """Writes cells below a folder, by name, and counts tokens.

    Attributes:
        kept: Names of cells that exist already and are not counted.
        tokens: Tokens that reading every request by itself would take.
        read: Tokens that were read.
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
        blind: Sequence[Prediction] | None = None,
    ) -> None:
        """Write a cell's predictions, the rows that they are made of and, if there are any, the predictions
        with the context hidden.

        The predictions are written last: they say that the cell is complete.
        """
        lines, predictions = predicted.records(records), list(predictions)
        predicted.check_finite([*predictions, *(blind or ())])
        write_lines(_file(self._folder, kind, name), lines)
        if blind is not None:
            write_predictions(_file(self._folder, UNSEEN, name), blind)
        write_predictions(_file(self._folder, SEEN, name), predictions)
        self._made = True

    def count(self, scored: Scored) -> None:
        """Add the tokens of a scoring."""
        self.tokens, self.read = self.tokens + scored.tokens, self.read + scored.read

    def took(self) -> dict[str, Any]:
        """Tokens, seconds since the beginning, and the ratio that sharing saved, if anything was scored.

        See `took_before`.
        """
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


def read(folder: Path, names: Iterable[str], kind: str = SEEN) -> dict[str, list[Prediction]]:
    """Read the predictions of cells, by name; of the kind UNSEEN those with the context hidden."""
    return {name: read_predictions(_file(folder, kind, name)) for name in names}


def one_by_one(
    score: Callable[[Sequence[Asked]], Scored], parts: Sequence[Sequence[Asked]], questions: int
) -> dict[str, Any]:
    """Compare the time of scoring questions together and part by part.

    Returns:
        Both times in seconds, their ratio, and the largest difference of a log-probability.
    """
    score(parts[0])
    started = time.perf_counter()
    together = score([question for part in parts for question in part])
    middle = time.perf_counter()
    apart = [log_probs for part in parts for log_probs in score(part).log_probs]
    ended = time.perf_counter()
    differences = [
        float((joint - single).abs().max()) for joint, single in zip(together.log_probs, apart, strict=True)
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
