"""Fig-QA as a task."""

from collections.abc import Mapping

from figlang.config import DataConfig, PathsConfig
from figlang.tasks import twins
from figlang.tasks.figqa import reading
from figlang.tasks.task import Task
from figlang.types import Split


class FigQa(Task):
    name = "figqa"
    title = "Fig-QA"
    sizes = ("small", "medium", "large")
    files = ("test_labels",)
    mixed_as = "both"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        return reading.load(
            split, data.size, data.root or paths.data, paths.cache, data.strict, data.test_labels
        )

    def evaluated(self, data: DataConfig) -> tuple[str, ...]:
        return ("validation", "test")

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        return twins.near_duplicates(train, other)
