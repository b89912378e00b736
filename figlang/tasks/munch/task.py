"""MUNCH as a task."""

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.munch import reading
from figlang.tasks.task import Task
from figlang.types import Split


class Munch(Task):
    name = "munch"
    title = "MUNCH"
    questions = ("both", *reading.FORMS, "generation", "paraphrase")
    mixed_as = "paraphrase"
    divided = True

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        return reading.load(split, data, data.root or paths.data, paths.cache)
