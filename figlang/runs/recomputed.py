"""Numbers of a finished evaluation, computed again from its predictions files.

Numbers that the predictions give are never taken from metrics.json.
"""

import logging
from collections.abc import Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.files import ownership, stored
from figlang.runs import answered

log = logging.getLogger("figlang")

AGAIN = "overwrite=true runs it again"
SHOWN = 3  # number of differences that a warning names
# Rounding of sums that are added up in another order, or by another version of numpy.
EQUAL = 1e-9


def measured(folder: Path, search: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Compute the metrics of an evaluation from the predictions files in its folder alone.

    Args:
        folder: Its folder.
        search: Which items share text with training items (`Answered.clean`), if it is known.

    Returns:
        The part of metrics.json that has numbers.
    """
    rows = answered.read(folder)
    return rows.numbers() | ({"clean": rows.clean(search)} if search else {})


def read(path: Path) -> dict[str, Any]:
    """Read a metrics.json as it is.

    Raises:
        FiglangError: If it is damaged, or if a file has changed since the numbers were computed from it.
    """
    content = stored.document(path, stored.DOCUMENT, AGAIN)
    ownership.check_files(path.parent, content.get("files", {}))
    return content


def checked(path: Path) -> dict[str, Any]:
    """Read a metrics.json, with its metrics computed again from the predictions beside it.

    A warning says where its numbers differ.

    Raises:
        FiglangError: If a file is damaged, if predictions are missing, or if they have another number of
            options.
    """
    content = stored.document(path, stored.DOCUMENT, AGAIN)
    recomputed = measured(path.parent, content.get("clean"))  # its errors name the line of a damaged file
    for part in ("metrics", "backward", "blind"):
        _check_counts(path, part, content, recomputed)
    ownership.check_files(path.parent, content.get("files", {}))
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
