"""The report: a page with tables and figures for a paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from figlang.api.quiet import quietly
from figlang.api.sources import Source, placed
from figlang.config import ReportConfig
from figlang.reports import assembly


def report(sources: Source | Sequence[Source], folder: str | Path, **options: Any) -> Path:
    """Write a page about systems, with their tables (Markdown, CSV, LaTeX) and figures (SVG, PDF) beside it.

    Args:
        sources: Predictions, or paths of runs, of evaluations or of predictions files.
        folder: The folder of the report. A report in it is replaced. Predictions from memory are kept in its
            folder `predictions`.
        options: Options of `figlang report`, for example `title="Metaphors"`.

    Returns:
        The page, `report.html` in the folder.

    Raises:
        FiglangError: A file is damaged, the systems did not see the same items, or the folder cannot be
            written to.
    """
    several = [sources] if isinstance(sources, Source) else list(sources)
    place = Path(folder).expanduser()
    with quietly(), placed(several, place / "predictions") as paths:
        return assembly.write(ReportConfig(runs=paths, **options), place)
