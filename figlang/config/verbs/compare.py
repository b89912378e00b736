"""The options of `compare`."""

from dataclasses import dataclass

from figlang.config.section import JOIN, RENAME, RUNS, Command, option, words
from figlang.errors import FiglangError


@dataclass
class CompareConfig(Command):
    """Compare systems on the same items: paired differences, tests, agreement. Runs that differ only in
    their seed count as one system."""

    runs: list[str] = words(RUNS)
    rename: list[str] = words(RENAME)
    join: str | None = option(None, JOIN)
    common: bool = option(
        False, "Compare on the items that all systems have. false: systems of different items are refused."
    )
    output: str | None = option(
        None, "Folder of the tables as Markdown, CSV and LaTeX. null: only the terminal shows them."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.runs) < 2:
            raise FiglangError("give two runs or more: figlang compare RUN RUN …")
