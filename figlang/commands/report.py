"""Write a page about runs, with tables and figures for a paper: `figlang report RUN …`."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from figlang.config import ReportConfig
from figlang.config.entry import entry
from figlang.machine.printing import say
from figlang.reports import assembly
from figlang.runs.passing import results_among


@entry("report")
def main(config: ReportConfig) -> None:
    config = replace(config, runs=results_among(config.runs))
    page = assembly.write(config, _folder(config))
    say(str(page), Console(), "bold")


def _folder(config: ReportConfig) -> Path:
    if config.output is not None:
        return Path(config.output)
    single = Path(config.runs[0])
    if len(config.runs) == 1:
        return (single if single.is_dir() else single.parent) / "report"
    return Path(config.paths.runs) / "report"


if __name__ == "__main__":
    main()
