"""MiQA's Table 3 as a grid: every prompt with every number of examples."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from figlang.config.section import NUMBER, option, words
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.errors import FiglangError
from figlang.tables import Table
from figlang.tasks.grid import AnswerGrid
from figlang.tasks.miqa import prompts, table
from figlang.tasks.questions import describe
from figlang.types import Item, Prediction, Prompted

log = logging.getLogger("figlang")


@dataclass
class Table3Config(ReproduceConfig):
    """MiQA's Table 3: every prompt, number of examples and question type, by a causal model."""

    kept_as: ClassVar[str | None] = "table3"
    hides: ClassVar[bool] = True

    questions: list[str] = words(
        "Prompts, instead of prompt.question. prompt.template adds a prompt of your own.",
        ("or", "numbered", "qa", "question_answer", "no_choices", "no_questions"),
    )
    shots: list[int] = words("Numbers of examples, instead of prompt.k.", (0, 1, 5), within=NUMBER)
    one_by_one: int = option(
        0,
        "Number of items whose strings are also scored one by one, to measure the time that sharing saves.",
        within=NUMBER,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.questions or not self.shots:
            raise FiglangError("questions= and shots= must each have at least one value")


class Table3(AnswerGrid[Table3Config]):
    """Every prompt with each number of examples. prompt.template adds the prompt `own`."""

    table = "miqa_table3"
    heading = "MiQA"
    document = "table3.md"
    options = Table3Config
    presets: ClassVar[Mapping[str, str | None]] = {"data": "miqa", "prompt": "miqa_qa"}
    cells = "*-[0-9]*-shot"
    apart = "question"

    def __init__(self, config: Table3Config) -> None:
        super().__init__(config)
        prompt = config.prompt
        if prompt.k:
            raise FiglangError(
                f"prompt.k={prompt.k} is for figlang evaluate; this table takes its numbers of "
                "examples from shots=[0,1,5]"
            )
        named = {
            name: prompts.wording_of(replace(prompt, question=name, template=None))
            for name in config.questions
        }
        if prompt.template is not None:
            named["own"] = prompts.wording_of(prompt)
        self.wordings = {name: wording for name, wording in named.items() if wording.has_answers}
        if not self.wordings:
            raise FiglangError(
                f"prompt.reply={prompt.reply} needs options with labels, but {', '.join(named)} have none; "
                "use prompt.reply=statement"
            )
        if left_out := [name for name in named if name not in self.wordings]:
            log.info("prompts that are left out, since their options have no labels: %s", ", ".join(left_out))

    def check(self, items: Sequence[Item]) -> None:
        if not prompts.are_questions(items):
            raise FiglangError("these are not MiQA's questions; use data=miqa or data=miqa_sample")

    def parts(self) -> Mapping[str, Sequence[str]]:
        return {
            prompt: [self._cell(prompt, count) for count in self.config.shots] for prompt in self.wordings
        }

    def ask(
        self, part: str, items: Sequence[Item], pool: Sequence[Item], blind: bool = False
    ) -> dict[str, list[Prompted]]:
        prompt = self.config.prompt
        shots = prompts.Shots(seed=prompt.seed, per=prompt.per, separator=prompt.separator)
        return {
            self._cell(part, count): prompts.ask(
                items, self.wordings[part], replace(shots, count=count), pool, blind
            )
            for count in self.config.shots
        }

    def described(self) -> str:
        prompt = self.config.prompt
        names, counts = "+".join(self.wordings), "+".join(map(str, self.config.shots))
        wording = describe(replace(prompt, question=names, k=0))
        return f"{wording},k={counts},per={prompt.per},separator={prompt.separator!r},seed={prompt.seed}"

    def measure(self, cells: Mapping[str, Sequence[Prediction]]) -> dict[str, Any]:
        keys = [(prompt, count) for prompt in self.wordings for count in self.config.shots]
        return {"questions": table.measure({key: cells[self._cell(*key)] for key in keys})}

    def tables(self, content: Mapping[str, Any]) -> list[Table]:
        return table.made(content)

    def below(self, content: Mapping[str, Any]) -> list[str]:
        return table.below(content)

    @staticmethod
    def _cell(prompt: str, count: int) -> str:
        return f"{prompt}-{count}-shot"
