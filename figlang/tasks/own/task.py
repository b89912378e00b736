"""Files of one's own as tasks: with any columns, and with the columns of Fig-QA."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, PathsConfig, settings_of_data
from figlang.errors import FiglangError
from figlang.tasks import twins
from figlang.tasks.figqa import describing as figqa_words
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.figqa import rows
from figlang.tasks.figqa.task import FigQa
from figlang.tasks.own import describing, published, reading, sources
from figlang.tasks.own.questions import Choices
from figlang.tasks.questions import Questions
from figlang.tasks.reference import Comparison
from figlang.tasks.task import Explained, Frequencies, Task
from figlang.types import Split


class OwnFiles(FigQa):
    """Items from files that the options name. Everything else is like Fig-QA."""

    name = "figqa_csv"
    hub = ()
    languages = ()
    sizes = ()
    files = ("file", "train", "validation", "test", "test_labels")
    mixed_as = None

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        file = {"train": data.train, "validation": data.validation, "test": data.test}[split] or data.file
        if file is None:
            raise FiglangError(
                f"data.{split} is not set; give data.{split}=FILE.csv with the columns "
                f"{', '.join(rows.COLUMNS)}"
            )
        loaded = figqa.read(Path(file).expanduser(), data.strict, distinct=data.drop_duplicates)
        if split == "test" and data.test_labels is not None:
            return figqa.with_labels(loaded, Path(data.test_labels).expanduser(), data.strict)
        return loaded

    def reads(self, question: str) -> frozenset[str]:
        return super().reads(question) | {"drop_duplicates"}

    def evaluated(self, data: DataConfig) -> tuple[str, ...]:
        return ("validation", "test") if data.test is not None else ("validation",)

    def frequencies(self, split: Split, most: int | None) -> Frequencies | None:
        return figqa_words.frequencies(split, most, beside=False)

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        # Numbers on Fig-QA say nothing about other items; a copy of its own file has them.
        return super().published(content) if content["published_file"] else ()


class Own(Task):
    """Items from a table with any columns, from a file of another tool, or from the hub."""

    name = "own"
    title = "Own items"
    files = ("file", "train", "validation", "test", "hub", "published", "columns")
    contradicts = False
    entailment_score = "entail"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        return reading.read(split, data).split

    def reads(self, question: str) -> frozenset[str]:
        return super().reads(question) | {"drop_duplicates"}

    def evaluated(self, data: DataConfig) -> tuple[str, ...]:
        return ("validation", "test") if sources.settings(data)[0].test is not None else ("validation",)

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        return twins.near_duplicates(train, other)

    def asked(self, question: str) -> Questions:
        return Choices()

    def published_files(self, split: Split, role: str) -> tuple[str, ...]:
        return (split.sha256,)

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        given = content.get("data", {}).get("settings")
        if given is None:
            return ()
        try:
            data, _ = sources.settings(settings_of_data(given, "metrics.json"))
        except FiglangError:  # its files are on another machine, or were moved
            return ()
        return published.compare(data, content)

    def explained(self, split: str, data: DataConfig) -> Explained | None:
        return describing.explain(reading.read(split, data), data)
