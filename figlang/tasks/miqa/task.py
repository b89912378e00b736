"""MiQA as a task."""

from collections.abc import Mapping, Sequence
from typing import Any

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.miqa import free_text, published, reading
from figlang.tasks.miqa.questions import Implications
from figlang.tasks.miqa.table3 import Table3
from figlang.tasks.questions import Questions
from figlang.tasks.reference import Comparison
from figlang.tasks.task import Task
from figlang.types import Item, Open, Split


class MiQa(Task):
    name = "miqa"
    title = "MiQA"
    languages: tuple[str, ...] = ("en",)
    questions = ("both", *reading.QUESTIONS)
    # There is one set, so that examples come from the other rows of what is evaluated.
    examples = "validation"
    scale = free_text.SCALE
    reproduced = (Table3,)
    # An option that is not implied need not be contradicted; the score of the paper is 1 −
    # P(contradiction).
    contradicts = False
    entailment_score = "not_contradict"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        root, upstream = data.root or paths.data, data.root is None
        return reading.load(split, data.question, root, paths.cache, data.strict, upstream)

    def open_questions(self, items: Sequence[Item], kinds: Sequence[str]) -> list[Open]:
        return free_text.ask(items, kinds)

    def published_files(self, split: Split, role: str) -> tuple[str, ...]:
        return (reading.SHA256,)

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        questions = content["metrics"]["accuracy_by"].get("question", ())
        shots = content["facts"].get("shots")
        return published.compare(content["data_name"], questions, shots, content["published_file"])

    def asked(self, question: str) -> Questions:
        return Implications()

    def premises(self, item: Item) -> list[tuple[str, str]]:
        """Premise and hypothesis for each option. If the question is what implies the sentence, the options
        are the premises."""
        if "implied-by" in item.attributes["question"]:
            return [(option, item.context) for option in item.options]
        return super().premises(item)
