"""Files and folders that match a pattern such as `checkpoints/*` but are not results."""

import logging
from collections.abc import Sequence
from pathlib import Path

from figlang.runs.predictions import FORWARD

log = logging.getLogger("figlang")

# Endings of files that hold results, of figlang or of other tools.
TABLES = (".jsonl", ".json", ".csv", ".tsv", ".eval", ".parquet", ".gz")


def results_among(sources: Sequence[str], least: int = 1) -> list[str]:
    """The sources that can be results. The others, and runs that are not finished, are named and passed over.

    A missing path stays, so that it is an error. So does everything if too few sources would be left.

    Args:
        sources: Paths of files and folders.
        least: The number of results that the command needs.
    """
    kept = [source for source in sources if not _other(Path(source))]
    passed = [source for source in sources if source not in kept]
    if not passed or len(kept) < least:
        return list(sources)
    stopped = [source for source in passed if (Path(source) / "recipe.json").is_file()]
    others = [source for source in passed if source not in stopped]
    if stopped:
        named = ", ".join(stopped)
        log.warning("left out, since not finished: %s; the command that began a run continues it", named)
    if others:
        log.info("passed over, since they are not results: %s", ", ".join(others))
    return kept


def _other(path: Path) -> bool:
    """Whether a path is there but holds no predictions."""
    if path.is_dir():
        return not any((path / name).exists() for name in (FORWARD, "metrics.json", "predictions"))
    return path.is_file() and path.suffix.lower() not in TABLES
