"""MiQA as a task."""

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.miqa import reading
from figlang.tasks.task import Task
from figlang.types import Split


class MiQa(Task):
    name = "miqa"
    title = "MiQA"
    questions = ("both", *reading.QUESTIONS)
    # There is one set, so that examples come from the other rows of what is evaluated.
    examples = "validation"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        root, upstream = data.root or paths.data, data.root is None
        return reading.load(split, data.question, root, paths.cache, data.strict, upstream)
