"""Show what a sweep concludes: the best setting and its command: `figlang sweep FOLDER`."""

from pathlib import Path

from figlang.config import SweepConfig
from figlang.config.entry import entry
from figlang.reports.concluding import conclude


@entry("sweep")
def main(config: SweepConfig) -> None:
    conclude([Path(run) for run in config.runs], None if config.output is None else Path(config.output))


if __name__ == "__main__":
    main()
