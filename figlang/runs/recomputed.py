"""Numbers of a finished evaluation, computed again from its predictions files.

Numbers that the predictions give are never taken from metrics.json.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isclose
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.files import folders, stored
from figlang.runs.predictions import (
    BACKWARD,
    BLIND,
    FORWARD,
    JUDGEMENTS,
    REPLIES,
    count_refused,
    read_predictions,
    read_replies,
)
from figlang.statistics import comparison, metrics
from figlang.types import CLASSES, Prediction

log = logging.getLogger("figlang")

AGAIN = "overwrite=true runs it again"
SHOWN = 3  # number of differences that a warning names
# Rounding of sums that are added up in another order, or by another version of numpy.
EQUAL = 1e-9


def measured(folder: Path) -> dict[str, Any]:
    """Compute the metrics of an evaluation from the predictions files in its folder alone."""
    predictions = read_predictions(folder / FORWARD)
    content: dict[str, Any] = {"metrics": metrics.measure(predictions)}
    if (folder / BLIND).is_file():
        content |= _blind(predictions, read_predictions(folder / BLIND))
    if (folder / BACKWARD).is_file():
        content["backward"] = metrics.measure(read_predictions(folder / BACKWARD))
    if (folder / JUDGEMENTS).is_file():
        content["three_way"] = _three_way(read_predictions(folder / JUDGEMENTS))
    if (folder / REPLIES).is_file():
        content["replies"] = _replies(folder)
    if refused := count_refused(folder):
        content["refused"] = {"n": len(predictions), "items": refused}
    return content


def _blind(predictions: Sequence[Prediction], blind: Sequence[Prediction]) -> dict[str, Any]:
    """Metrics with the context hidden and, if labels are known, the gain of having it."""
    content: dict[str, Any] = {"blind": metrics.measure(blind)}
    if any(row.gold is not None for row in predictions):
        content["gain"] = asdict(comparison.compare(predictions, blind)[0])
    return content


def _three_way(judgements: Sequence[Prediction]) -> dict[str, Any]:
    accuracy = metrics.accuracy(judgements) if len(judgements[0].scores) == len(CLASSES) else None
    # Neutral is never right here, so guessing has no fixed rate: one answer to everything is right half the
    # time.
    return (
        {}
        if accuracy is None
        else {"accuracy": asdict(replace(accuracy, chance=None, p=None)), "items": len(judgements)}
    )


def _replies(folder: Path) -> dict[str, Any]:
    """How many replies there are, and which share of them names no option.

    Of those, it counts how many reached the limit of tokens and how many a content filter refused.
    """
    group = {row.id: row.group for row in read_predictions(folder / FORWARD)}
    replies = read_replies(folder / REPLIES, group)
    invalid: dict[str, list[bool]] = {}
    for reply in replies:
        invalid.setdefault(group[reply["id"]], []).append(reply["letter"] is None)
    hits, sizes = (
        [sum(flags) for flags in invalid.values()],
        [len(flags) for flags in invalid.values()],
    )
    cut = sum(reply["letter"] is None and reply["cut"] for reply in replies)
    refused = sum(reply["letter"] is None and reply.get("refused", False) for reply in replies)
    return {"n": len(replies), "invalid": asdict(metrics.ratio(hits, sizes)), "cut": cut, "refused": refused}


def read(path: Path) -> dict[str, Any]:
    """Read a metrics.json as it is.

    Raises:
        FiglangError: If it is damaged, or if a file has changed since the numbers were computed from it.
    """
    content = stored.document(path, stored.DOCUMENT, AGAIN)
    folders.check_files(path.parent, content.get("files", {}))
    return content


def checked(path: Path) -> dict[str, Any]:
    """Read a metrics.json, with its metrics computed again from the predictions beside it.

    A warning says where its numbers differ.

    Raises:
        FiglangError: If a file is damaged, if predictions are missing, or if they have another number of
            options.
    """
    content = stored.document(path, stored.DOCUMENT, AGAIN)
    recomputed = measured(path.parent)  # its errors name the line of a damaged file
    for part in ("metrics", "backward", "blind"):
        _check_counts(path, part, content, recomputed)
    folders.check_files(path.parent, content.get("files", {}))
    differences = [
        f"{name} {before} there, {after} here"
        for part in recomputed
        for name, before, after in _differences(part, content.get(part, {}), recomputed[part])
    ]
    if differences:
        more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        log.warning(
            "%s differs from its predictions: %s%s; the tables show the numbers of the predictions",
            path,
            "; ".join(differences[:SHOWN]),
            more,
        )
    return content | recomputed


def _check_counts(path: Path, part: str, content: Mapping[str, Any], recomputed: Mapping[str, Any]) -> None:
    if part not in content or part not in recomputed:
        if part in content:
            raise FiglangError(
                f"{path} has {part!r}, but the predictions that it was computed from are missing; {AGAIN}"
            )
        return
    before, after = content[part], recomputed[part]
    if before["items"] != after["items"]:
        few = "are missing" if after["items"] < before["items"] else "were added"
        counts = f"{after['items']}, but metrics.json says {before['items']}"
        raise FiglangError(f"{path.parent}: its predictions ({part}) are {counts}: rows {few}; {AGAIN}")
    chances = [metrics_before.get("accuracy", {}).get("chance") for metrics_before in (before, after)]
    if None not in chances and not isclose(*chances, abs_tol=EQUAL):
        raise FiglangError(
            f"{path.parent}: its predictions ({part}) have other numbers of options than metrics.json was "
            f"measured on (chance {chances[1]:.4f}, it says {chances[0]:.4f}); {AGAIN}"
        )


def _differences(name: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Values and counts that differ.

    Intervals and p values may come from the method of an earlier version.
    """
    if isinstance(after, Mapping) and isinstance(before, Mapping):
        for key, value in after.items():
            if key not in ("low", "high", "p", "chance"):
                yield from _differences(name if key == "value" else f"{name}.{key}", before.get(key), value)
    elif isinstance(after, int | float) and not isinstance(after, bool):
        same = isinstance(before, int | float) and isclose(before, after, abs_tol=EQUAL)
        if before is not None and not same:
            yield name, _number(before), _number(after)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"
