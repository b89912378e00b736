"""Make the sheet of a command: the answers of its sources, mixed and blind."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from figlang.config import SheetConfig
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.rating import answers, sheets, substitutions, texts
from figlang.types import Generation

KIND = "a rating sheet"


def make(config: SheetConfig, folder: Path) -> None:
    """Write the sheet of `config.runs` and `config.texts`, unless the folder has it already.

    Raises FiglangError if the answers cannot be read, or if the folder has another sheet.
    """
    written = _written(config)
    scale = answers.scale_of([answer for several in written.values() for answer in several])
    written = written if config.limit is None else _drawn(written, config.limit, config.seed)
    with folders.locked(folder, "folder=DIR", KIND):
        if not sheets.is_there(folder, written, scale, config.seed):
            sheets.check_free(folder)
            with folders.staged(folder, KIND) as new:
                sheets.write(new, written, scale, config.seed)


def _written(config: SheetConfig) -> dict[str, list[Generation]]:
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
    """The answers to `limit` questions, which are drawn. They are the same questions for every model."""
    items = sorted({answer.item for several in written.values() for answer in several})
    chosen = set(random.Random(seed).sample(items, min(limit, len(items))))
    return {
        model: [answer for answer in several if answer.item in chosen] for model, several in written.items()
    }
