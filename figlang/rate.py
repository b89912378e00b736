"""Make a rating sheet from answers of several models (`runs=[a,b]`), or read filled-in ones (`ratings=[ann.csv,ben.csv]`)."""

from pathlib import Path

from rich.console import Console

from figlang import results
from figlang.command import entry
from figlang.config import RateConfig
from figlang.errors import FiglangError
from figlang.rating import answers, ratings, sheets


@entry("rate", RateConfig)
def main(config: RateConfig) -> None:
    folder, console = Path(config.folder), Console()
    if config.runs:
        if len({Path(run).resolve() for run in config.runs}) < len(config.runs):
            raise FiglangError(f"runs=[{','.join(config.runs)}] names a folder twice; give each once")
        written = {run: answers.read(Path(run)) for run in config.runs}
        scale = answers.scale_of([one for several in written.values() for one in several])
        sheets.write(folder, written, scale, config.seed)
        console.print(sheets.invitation(folder), highlight=False, markup=False, soft_wrap=True)
        return
    scale, rated = sheets.read(folder, [Path(path) for path in config.ratings])
    content = ratings.statistics(rated, scale, config.seed)
    results.write(folder / "ratings.json", content)
    ratings.show(content, console)


if __name__ == "__main__":
    main()
