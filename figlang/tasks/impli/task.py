"""IMPLI as a task."""

from collections.abc import Mapping

from figlang.config import DataConfig, PathsConfig
from figlang.tasks import twins
from figlang.tasks.impli import reading
from figlang.tasks.nli import reading as nli
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import TWO_CLASSES, Split

CHOICE = "choice"


class TwoClasses(Questions):
    """Premises with hypotheses that are entailed or not."""

    classes = TWO_CLASSES


class Impli(Task):
    """`data.question` names the figures, and whether hypotheses are classified or chosen from.

    Training items are the silver pairs; evaluated items are the gold pairs, which people wrote.
    """

    name = "impli"
    title = "IMPLI"
    languages: tuple[str, ...] = ("en",)
    questions = (
        "both",
        *reading.FIGURES,
        CHOICE,
        *(f"{figures}_{CHOICE}" for figures in reading.FIGURES),
    )
    mixed_as = CHOICE
    contradicts = False
    entailment_score = "entail"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        figures = [name for name in reading.FIGURES if data.question.startswith(name)] or reading.FIGURES
        root = data.root or paths.data
        loaded = reading.load(split, figures, root, paths.cache, data.strict, data.drop_duplicates)
        return loaded if self.classified(data) else nli.choices(loaded, TWO_CLASSES.index("not_entailment"))

    def classified(self, data: DataConfig) -> bool:
        return not data.question.endswith(CHOICE)

    def asked(self, question: str) -> Questions:
        return Questions() if question.endswith(CHOICE) else TwoClasses()

    def reads(self, question: str) -> frozenset[str]:
        return super().reads(question) | {"drop_duplicates"}

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        return twins.near_duplicates(train, other)
