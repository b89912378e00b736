"""The options of `report`."""

from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups.trainer import PathsConfig
from figlang.config.section import JOIN, RENAME, RUNS, Command, option, words
from figlang.errors import FiglangError


@dataclass
class ReportConfig(Command):
    """Write one HTML page about runs. Beside it are the tables (Markdown, CSV, LaTeX) and the figures (SVG,
    PDF) for a paper."""

    runs: list[str] = words(RUNS)
    rename: list[str] = words(RENAME)
    join: str | None = option(None, JOIN)
    output: str | None = option(
        None,
        "Folder of the report. null: the folder `report` in the run, or runs/report if there are several "
        "runs.",
    )
    title: str = option("", "Title of the page. Empty: the names of the data sets.")
    analysis: str = option(
        "auto",
        "Linguistic analyses of metaphors. auto: if the extra figlang[analysis] is installed.",
        ("auto", "on", "off"),
    )
    people: str | None = option(
        None,
        "CSV file of people's answers to the items, with the columns id and choice (the number of an "
        "option), and if you like rater and confident (yes, no). People stand beside the systems, with the "
        "human ceiling and the errors that both share.",
    )
    data: DataConfig | None = None
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.runs:
            raise FiglangError("give at least one run: figlang report RUN …")
