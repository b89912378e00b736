"""MUNCH as a task."""

from collections.abc import Mapping, Sequence
from typing import Any

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.munch import free_text, published, reading
from figlang.tasks.munch.figures import MunchFigures
from figlang.tasks.munch.generation import GenerationGrid
from figlang.tasks.munch.judgement import JudgementGrid
from figlang.tasks.munch.questions import Blanks, Judgements
from figlang.tasks.questions import Questions
from figlang.tasks.reference import Comparison
from figlang.tasks.task import Task
from figlang.types import Prediction, Split


class Munch(Task):
    name = "munch"
    title = "MUNCH"
    languages: tuple[str, ...] = ("en",)
    questions = ("both", *reading.FORMS, "generation", "paraphrase")
    mixed_as = "paraphrase"
    divided = True
    scale = free_text.SCALE
    reproduced = (JudgementGrid, GenerationGrid, MunchFigures)

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        return reading.load(split, data, data.root or paths.data, paths.cache)

    def reads(self, question: str) -> frozenset[str]:
        shown = set() if self.asked(question).fills else {"order", "seed"}
        divided = {"held_out"} if question == self.mixed_as else set()
        return frozenset({"pos", "tagger"} | shown | divided)

    def published_files(self, split: Split, role: str) -> tuple[str, ...]:
        asked = self.asked(split.question)
        if asked.by_letter:
            # The published numbers are of shuffled candidates.
            return () if "order=upstream" in split.drawn else (reading.FILES["judgement"][1],)
        return (reading.FILES["generation"][1],) if asked.fills else ()

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        if "form" not in content["metrics"]["accuracy_by"]:
            return ()  # a choice between paraphrases, which nobody has published
        place = content["facts"]["question"].split("/")
        return published.compare(content["data_name"], place, content["published_file"])

    def form(self, row: Prediction) -> tuple[str, str]:
        # A triple has the same candidates in the same order in both forms, so that the right letter is the
        # same.
        form = ",".join(row.attributes.get("form", ()))
        return row.id.removesuffix(f"-{form}"), form

    def asked(self, question: str) -> Questions:
        return {"generation": Blanks, "paraphrase": Questions}.get(question, Judgements)()
