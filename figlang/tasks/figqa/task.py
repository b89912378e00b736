"""Fig-QA as a task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tables import Table
from figlang.tasks import twins
from figlang.tasks.figqa import beside, describing, free_text, linguistic, published, reading, submission
from figlang.tasks.reference import Comparison
from figlang.tasks.task import Beside, Frequencies, System, Task, Values
from figlang.types import Item, Open, Prediction, Split


class FigQa(Task):
    name = "figqa"
    title = "Fig-QA"
    hub: tuple[str, ...] = ("nightingal3/fig-qa",)
    languages: tuple[str, ...] = ("en",)
    sizes: tuple[str, ...] = ("small", "medium", "large")
    printed_sizes = MappingProxyType({"small": "S", "medium": "L", "large": "XL"})  # as in Table 4
    files: tuple[str, ...] = ("test_labels",)
    mixed_as: str | None = "both"
    scale = free_text.SCALE
    submitted = ("test",)
    context = "metaphor"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        return reading.load(
            split, data.size, data.root or paths.data, paths.cache, data.strict, data.test_labels
        )

    def evaluated(self, data: DataConfig) -> tuple[str, ...]:
        return ("validation", "test")

    def submit(self, folder: Path, split: Split, predictions: Sequence[Prediction]) -> None:
        submission.write(folder / "submission.json", split.items, predictions)

    def frequencies(self, split: Split, most: int | None) -> Frequencies | None:
        return describing.frequencies(split, most)

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        return twins.near_duplicates(train, other)

    def open_questions(self, items: Sequence[Item], kinds: Sequence[str]) -> list[Open]:
        return free_text.ask(items)

    def published_files(self, split: Split, role: str) -> tuple[str, ...]:
        return (reading.FILES[role][1],) if role in reading.FILES else ()

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        return published.compare(content["data_name"], content["split"], content["published_file"])

    def beside(self, table: str) -> Beside:
        return beside.of(table)

    def prompts(self) -> Mapping[str, Mapping[str, float]]:
        return published.prompts()

    def breakdowns(self, systems: Sequence[System], attributes: Values) -> list[Table]:
        categories = attributes.get("commonsense")
        return [] if categories is None else [beside.commonsense(systems, categories)]

    def analyse(self, items: Sequence[Item], cache: Path, wanted: str) -> tuple[Values, str]:
        if wanted == "auto" and not linguistic.latin(item.context for item in items):
            return {}, "the parser is English, and most letters of these texts are not Latin"
        try:
            by_item = linguistic.attributes(items, cache / "nltk")
            if wanted == "auto":
                linguistic.check_english(by_item)
        except FiglangError as error:
            if wanted == "on":
                raise
            return {}, str(error)
        values: dict[str, dict[str, Sequence[str]]] = {}
        for name, attributes in by_item.items():
            for attribute, each in attributes.items():
                values.setdefault(attribute, {})[name] = each
        return values, ""

    def analysis_notes(self) -> tuple[str, ...]:
        return beside.analysis_notes()
