"""Make a sheet for people's ratings, or read filled-in ones: `runs=[a,b]`, or `ratings=[ann.csv,ben.csv]`.

`texts=[gpt.csv]` takes answers that were written elsewhere.
"""

import json
from pathlib import Path

from rich.console import Console

from figlang.config import RateConfig
from figlang.config.entry import entry
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.machine.printing import say
from figlang.rating import making, ratings, sheets


@entry("rate")
def main(config: RateConfig) -> None:
    folder, console = Path(config.folder), Console()
    if config.runs or config.texts:
        making.make(config, folder)
        say(sheets.invitation(folder), console)
        return
    scale, rated = sheets.read(folder, [Path(path) for path in config.ratings])
    content = ratings.statistics(rated, scale)
    with folders.locked(folder, "folder=DIR"):
        write_text(folder / "ratings.json", json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    ratings.show(content, console)


if __name__ == "__main__":
    main()
