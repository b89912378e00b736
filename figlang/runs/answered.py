"""Answers of a model on a split: rows in memory, their files, and the numbers that they give."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from figlang.files.whole import write_lines
from figlang.runs.predictions import (
    BACKWARD,
    BLIND,
    BLIND_REPLIES,
    FORWARD,
    JUDGEMENTS,
    MEASURED,
    REPLIES,
    check_finite,
    count_refused,
    read_predictions,
    read_replies,
    records,
    write_predictions,
)
from figlang.statistics import comparison, metrics
from figlang.types import CLASSES, Prediction

Rows = Sequence[Prediction]


@dataclass(frozen=True)
class Answered:
    """The rows of each file of an evaluation. None: there is no such file.

    Attributes:
        forward: The prediction for each item.
        blind: Predictions with the context hidden.
        backward: Choices of the context for a given option.
        judged: The class that an NLI network gives to each option.
        measured: Log-probabilities that the predictions are made of. They are not read back from a folder.
        replies: Replies of a chat model.
        replies_blind: Its replies with the context hidden.
        refused: Of how many items a content filter refused a text that the choice needs.
        refused_blind: Of how many it refused a text with the context hidden.
    """

    forward: Rows
    blind: Rows | None = None
    backward: Rows | None = None
    judged: Rows | None = None
    measured: Sequence[Mapping[str, Any]] | None = None
    replies: Sequence[dict[str, Any]] | None = None
    replies_blind: Sequence[dict[str, Any]] | None = None
    refused: int = 0
    refused_blind: int = 0

    def write(self, folder: Path) -> None:
        """Write the files into a folder. A file of an earlier attempt that is not written now is removed.

        Args:
            folder: Where they are written.

        Raises:
            NonFiniteError: A score is not a finite number; nothing is written then.
        """
        predictions = {
            FORWARD: self.forward,
            BACKWARD: self.backward,
            BLIND: self.blind,
            JUDGEMENTS: self.judged,
        }
        beside = {MEASURED: self.measured, REPLIES: self.replies, BLIND_REPLIES: self.replies_blind}
        self.check()
        # First the files whose numbers are checked while they are written.
        for name, lines in beside.items():
            if lines is None:
                (folder / name).unlink(missing_ok=True)
            else:
                write_lines(folder / name, records(lines))
        for name, rows in predictions.items():
            if rows is None:
                (folder / name).unlink(missing_ok=True)
            else:
                write_predictions(folder / name, rows)

    def check(self) -> None:
        """Check that every score is a finite number.

        Raises:
            NonFiniteError: For the first prediction with another score.
        """
        for rows in (self.forward, self.backward, self.blind, self.judged):
            check_finite(rows or ())

    def numbers(self) -> dict[str, Any]:
        """The part of metrics.json that the rows alone give."""
        groups = {row.id: row.group for row in self.forward}
        content: dict[str, Any] = {"metrics": metrics.measure(self.forward)}
        if self.blind is not None:
            content |= _unseen(self.forward, self.blind)
            if self.replies_blind is not None:
                content["blind"]["replies"] = _unread(self.replies_blind, groups)
        if self.backward is not None:
            content["backward"] = metrics.measure(self.backward)
        if self.judged is not None:
            content["three_way"] = _three_way(self.judged)
        if self.replies is not None:
            content["replies"] = _unread(self.replies, groups)
        if self.refused or self.refused_blind:
            counts = {"items": self.refused, "blind": self.refused_blind}
            content["refused"] = {"n": len(self.forward), **counts}
        return content

    def clean(self, search: Mapping[str, Any]) -> dict[str, Any]:
        """The part `clean` of metrics.json: the accuracy on items that share no text with training items.

        Args:
            search: What was searched, with the ids of the items that share text (`touched`).

        Returns:
            The search, with `accuracy` on the clean items and on the `others`; None if there is no such
                item with a label.
        """
        touched = search["touched"]
        parts = [[row for row in self.forward if (row.id in touched) is shared] for shared in (False, True)]
        accuracy, others = (None if cell is None else asdict(cell) for cell in metrics.accuracies(parts))
        return {**search, "accuracy": accuracy, "others": others}


def read(folder: Path) -> Answered:
    """Read the files of an evaluation back, except its log-probabilities.

    Args:
        folder: Its folder.

    Raises:
        FiglangError: A file is missing or damaged.
    """
    forward = read_predictions(folder / FORWARD)

    def beside(name: str) -> Rows | None:
        return read_predictions(folder / name) if (folder / name).is_file() else None

    known = [row.id for row in forward]

    def replied(name: str) -> Sequence[dict[str, Any]] | None:
        return read_replies(folder / name, known) if (folder / name).is_file() else None

    blind, backward, judged = map(beside, (BLIND, BACKWARD, JUDGEMENTS))
    replies, unseen = map(replied, (REPLIES, BLIND_REPLIES))
    return Answered(forward, blind, backward, judged, None, replies, unseen, *count_refused(folder))


def refused(measured: Iterable[Mapping[str, Any]] | None, kind: str) -> int:
    """How many rows of log-probabilities say that a content filter refused a text: `refused`, or
    `refused_blind` for texts with the context hidden."""
    return sum(bool(row.get(kind)) for row in measured or ())


def _unseen(predictions: Rows, blind: Rows) -> dict[str, Any]:
    """Metrics with the context hidden and, if labels are known, the gain of having it."""
    content: dict[str, Any] = {"blind": metrics.measure(blind)}
    if any(row.gold is not None for row in predictions):
        content["gain"] = asdict(comparison.gain(predictions, blind))
    return content


def _three_way(judgements: Rows) -> dict[str, Any]:
    accuracy = metrics.accuracy(judgements) if len(judgements[0].scores) == len(CLASSES) else None
    # Neutral is never right here, so guessing has no fixed rate: one answer to everything is right half the
    # time.
    return (
        {}
        if accuracy is None
        else {"accuracy": asdict(replace(accuracy, chance=None, p=None)), "items": len(judgements)}
    )


def _unread(replies: Sequence[Mapping[str, Any]], group: Mapping[str, str]) -> dict[str, Any]:
    """How many replies there are, and which share of them is unread. metrics.json calls that share `invalid`.

    Of those, it counts how many reached the limit of tokens and how many a content filter refused.
    """
    unread = metrics.over_groups((group[reply["id"]], reply["letter"] is None) for reply in replies)
    cut = sum(reply["letter"] is None and reply["cut"] for reply in replies)
    refused = sum(reply["letter"] is None and reply.get("refused", False) for reply in replies)
    return {"n": len(replies), "invalid": asdict(unread), "cut": cut, "refused": refused}
