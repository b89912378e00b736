"""The report: a page with tables and figures for a paper."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.api.quiet import quietly
from figlang.api.sources import Source, placed
from figlang.config import ReportConfig, calling
from figlang.errors import FiglangError
from figlang.reports import assembly


def report(sources: Source | Sequence[Source], folder: str | Path, **options: Any) -> Path:
    """Write a page about systems, with their tables (Markdown, CSV, LaTeX) and figures (SVG, PDF) beside it.

    Args:
        sources: Predictions, or paths of runs, of evaluations or of predictions files.
        folder: The folder of the report. A report in it is replaced. Predictions from memory are kept in its
            folder `predictions`.
        options: Options of `figlang report`, for example `title="Metaphors"`. `rename` may map old names to
            new ones.

    Returns:
        The page, `report.html` in the folder.

    Raises:
        FiglangError: An option is unknown, a file is damaged, the systems did not see the same items, or the
            folder cannot be written to.
    """
    if given := {"runs", "output"} & set(options):
        raise FiglangError(f"{min(given)}= is said by the first two arguments; leave it out")
    if isinstance(renamed := options.get("rename"), Mapping):
        options["rename"] = [f"{old}={new}" for old, new in renamed.items()]
    words = [calling.word(name, value) for name, value in options.items()]
    several = (
        list(sources) if isinstance(sources, Iterable) and not isinstance(sources, Source) else [sources]
    )
    place = Path(folder).expanduser()
    with quietly(), placed(several, place / "predictions") as paths:
        config = calling.options("report", ReportConfig, [calling.word("runs", paths), *words])
        return assembly.write(config, place)
