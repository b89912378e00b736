"""The options of `sweep`."""

from dataclasses import dataclass

from figlang.config.section import Command, option, words
from figlang.errors import FiglangError


@dataclass
class SweepConfig(Command):
    """Show the conclusion of a sweep. It is a row for each setting with means over seeds, the best by
    held-out loss, and the command that trains it."""

    runs: list[str] = words("Run folders, or folders that hold them. Words without `=` are taken as runs.")
    output: str | None = option(
        None, "Folder of the table (Markdown, CSV, LaTeX) and the figure. null: only the terminal shows it."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.runs:
            raise FiglangError("give the folder of the runs: figlang sweep RUNS")
