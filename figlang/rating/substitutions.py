"""Unexpected answers: words that a model puts into a blank and no person gave. People then say why."""

from pathlib import Path

from pydantic_core import from_json

from figlang.config import PathsConfig, settings_of_data
from figlang.errors import FiglangError, one_line
from figlang.statistics import rankings
from figlang.tasks import registry as data
from figlang.tasks.open import SUBSTITUTION
from figlang.types import Generation, Marked

FOLDER = "rankings"


def unexpected(run: Path, paths: PathsConfig) -> list[Generation]:
    """Find the words that a model prefers and no person gave, from its ranked words for its best prompt.

    Raises FiglangError if the folder or its sentences cannot be read.
    """
    try:
        content = from_json((run / "metrics.json").read_text(encoding="utf-8"))
        best, split, settings = content["best"], content["split"], content["data"]["settings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FiglangError(
            f"{run} is not a folder of figlang reproduce with rankings ({one_line(error)}); give one"
        ) from error
    asked = settings_of_data(settings, str(run / "metrics.json"))
    known = {item.id: item for item in data.load(str(split), asked, paths).items}
    found = []
    for row in rankings.read(run / FOLDER / f"{best}.jsonl"):
        item = known.get(row.id)
        if not isinstance(item, Marked):
            raise FiglangError(
                f"{run} has {row.id}, which data={asked.name} does not have; set paths.data= to the data of "
                "that run"
            )
        word = row.written.strip()
        if word and word.casefold() not in {answer.casefold() for answer in row.answers}:
            prompt = f"{item.highlighted()}\nPeople: {', '.join(row.answers)}"
            found.append(Generation(row.id, row.group, SUBSTITUTION, 0, prompt, row.written, word))
    return found
