"""Each corpus of natural language inference as a task."""

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.nli import reading
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import CLASSES, Split

# data.dataset: the name in tables and sentences
TITLES = {
    "snli": "SNLI",
    "mnli": "MultiNLI",
    "anli": "ANLI",
    "fever_nli": "FEVER-NLI",
    "snli_dev_test": "SNLI without its training part",
    "nli_mix": "SNLI, MultiNLI, ANLI and FEVER-NLI",
}


class Inferences(Questions):
    """Premises with hypotheses, as they are."""

    classes = CLASSES


class Nli(Task):
    """Rows of premise, hypothesis and class; or, with `data.question=choice`, choices between two
    hypotheses."""

    questions = ("both", "choice")
    mixed_as = "choice"
    languages: tuple[str, ...] = ("en",)

    def __init__(self, name: str) -> None:
        self.name, self.title = name, TITLES[name]
        self.hub = reading.on_hub(name)

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        loaded = reading.load(split, self.name, data.root or paths.data, data.strict)
        return reading.choices(loaded) if data.question == "choice" else loaded

    def classified(self, data: DataConfig) -> bool:
        return data.question != "choice"

    def asked(self, question: str) -> Questions:
        return Questions() if question == "choice" else Inferences()
