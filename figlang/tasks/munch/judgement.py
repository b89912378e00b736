"""MUNCH's judgement as a grid: Tables 2 and 9 to 12 (Tong et al. 2024)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from figlang.config.section import NUMBER, option
from figlang.statistics import association
from figlang.tables import Table
from figlang.tasks.grid import LetterGrid
from figlang.tasks.munch import factors, prompts, table
from figlang.tasks.munch.prompt_options import PromptsConfig
from figlang.types import Item, Prediction


@dataclass
class JudgementConfig(PromptsConfig):
    """MUNCH's Tables 2 and 9 to 12: all 18 judgement prompts, by a model that answers with letters."""

    kept_as: ClassVar[str | None] = "judgements"
    hides: ClassVar[bool] = True

    one_by_one: int = option(
        0,
        "Number of triples whose answers are also scored one by one, to measure the time that sharing saves.",
        within=NUMBER,
    )


class JudgementGrid(LetterGrid[JudgementConfig]):
    """All judgement prompts. A prompt is asked about the triples of its form."""

    table = "munch_judge"
    heading = "MUNCH judgement"
    options = JudgementConfig
    presets: ClassVar[Mapping[str, str | None]] = {"data": "munch", "prompt": "munch"}

    def __init__(self, config: JudgementConfig) -> None:
        super().__init__(config)
        self.one_by_one = config.one_by_one

    def ask(self, items: Sequence[Item]) -> Mapping[str, Sequence[Item]]:
        return prompts.by_prompt(items, self.config.prompts)

    def measure(self, cells: Mapping[str, Sequence[Prediction]]) -> dict[str, Any]:
        measured = table.measure(cells, self.config.ddof)
        best = association.cases(cells[measured["best"]])
        return measured | {"factors": self.config.factors(best)}

    def tables(self, content: Mapping[str, Any]) -> list[Table]:
        return table.tables(content)

    def below(self, content: Mapping[str, Any]) -> list[str]:
        return factors.below(content, table.FOOTNOTE)
