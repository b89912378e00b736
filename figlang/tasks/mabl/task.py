"""MABL as a task: train in English, evaluate in other languages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from figlang.config import DataConfig, PathsConfig
from figlang.tables import Table
from figlang.tasks import mix, twins
from figlang.tasks.mabl import languages, reading
from figlang.tasks.task import System, Task, Values
from figlang.types import Split

ALL = "all"
WITH_ENGLISH = "with_english"


class Mabl(Task):
    """`data.question` names the language of the evaluated items. Training items are always English."""

    name = "mabl"
    title = "MABL"
    languages: tuple[str, ...] = ("en",)
    questions = (ALL, WITH_ENGLISH, *reading.NAMES)
    context = "metaphor"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        splits = [
            reading.load(stem, data.root or paths.data, paths.cache, data.strict, data.drop_duplicates)
            for stem in ([reading.TRAINING] if split == "train" else _evaluated(data.question))
        ]
        if len(splits) == 1:
            return splits[0]
        sizes = tuple(len(split.items) for split in splits)
        return replace(mix.joined(f"mabl_{data.question}", splits), parts=sizes)

    def reads(self, question: str) -> frozenset[str]:
        return super().reads(question) | {"drop_duplicates"}

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        return twins.near_duplicates(train, other)

    def breakdowns(self, systems: Sequence[System], attributes: Values) -> list[Table]:
        found = attributes.get("language", {})
        several = len({value for values in found.values() for value in values}) > 1
        return [languages.table(systems, found)] if several else []


def _evaluated(question: str) -> list[str]:
    """The stems of the files of the evaluated languages."""
    chosen = {ALL: list(reading.LANGUAGES), WITH_ENGLISH: list(reading.NAMES)}.get(question, [question])
    return ["en_dev" if language == reading.ENGLISH else language for language in chosen]
