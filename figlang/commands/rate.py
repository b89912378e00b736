"""Make a sheet for people's ratings, or read filled-in ones: `runs=[a,b]`, or `ratings=[ann.csv,ben.csv]`.

`texts=[gpt.csv]` takes answers that were written elsewhere.
"""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from figlang.config import RateConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.rating import answers, ratings, sheets, substitutions, texts
from figlang.types import Generation

SHEET = "a rating sheet"


@entry("rate")
def main(config: RateConfig) -> None:
    folder, console = Path(config.folder), Console()
    if config.runs or config.texts:
        written = _written(config)
        scale = answers.scale_of([answer for several in written.values() for answer in several])
        written = written if config.limit is None else _drawn(written, config.limit, config.seed)
        with folders.locked(folder, "folder=DIR", SHEET):
            if not sheets.is_there(folder, written, scale, config.seed):
                sheets.check_free(folder)
                with folders.staged(folder, SHEET) as new:
                    sheets.write(new, written, scale, config.seed)
        console.print(sheets.invitation(folder), highlight=False, markup=False, emoji=False, soft_wrap=True)
        return
    scale, rated = sheets.read(folder, [Path(path) for path in config.ratings])
    content = ratings.statistics(rated, scale)
    with folders.locked(folder, "folder=DIR"):
        write_text(folder / "ratings.json", json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    ratings.show(content, console)


def _written(config: RateConfig) -> dict[str, list[Generation]]:
    """The answers of all sources, by model."""
    for name, sources in (("runs", config.runs), ("texts", config.texts)):
        if len({Path(source).resolve() for source in sources}) < len(sources):
            raise FiglangError(f"{name}=[{','.join(sources)}] names one twice; give each once")
    written: dict[str, list[Generation]] = {}
    for run in config.runs:
        folder = Path(run)
        ranked = (folder / substitutions.FOLDER).is_dir()
        written[run] = substitutions.unexpected(folder, config.paths) if ranked else answers.read(folder)
    for text in config.texts:
        for model, several in texts.read(
            Path(text), config.scale, config.prompt_column, config.answer_column
        ).items():
            if model in written:
                raise FiglangError(
                    f"{text} has answers of {model}, and so has another source; give each model one name"
                )
            written[model] = several
    return written


def _drawn(written: Mapping[str, Sequence[Generation]], limit: int, seed: int) -> dict[str, list[Generation]]:
    """The answers to so many of the questions, the same for every model."""
    items = sorted({answer.item for several in written.values() for answer in several})
    chosen = set(random.Random(seed).sample(items, min(limit, len(items))))
    return {
        model: [answer for answer in several if answer.item in chosen] for model, several in written.items()
    }


if __name__ == "__main__":
    main()
