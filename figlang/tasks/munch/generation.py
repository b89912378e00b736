"""MUNCH's generation as a grid: Tables 3 and 10 to 12 (Tong et al. 2024)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from figlang.config.verbs.reproduce import RankingConfig
from figlang.statistics import rankings
from figlang.tables import Table
from figlang.tasks.grid import BlankGrid
from figlang.tasks.munch import blanks, factors, table3
from figlang.tasks.munch.prompt_options import PromptsConfig
from figlang.types import Item, Ranking


@dataclass
class GenerationConfig(RankingConfig, PromptsConfig):
    """MUNCH's Tables 3 and 10 to 12: the ranks that a model gives to people's words, for all three
    prompts."""

    kept_as: ClassVar[str | None] = "rankings"


class GenerationGrid(BlankGrid[GenerationConfig]):
    """All generation prompts about the sentences."""

    table = "munch_generate"
    heading = "MUNCH generation"
    options = GenerationConfig
    presets: ClassVar[Mapping[str, str | None]] = {"data": "munch_generation"}
    rated = True

    def prompts(self) -> Sequence[str]:
        return self.config.prompts or list(blanks.PROMPTS)

    def check(self, items: Sequence[Item]) -> None:
        for name in self.prompts():
            blanks.ask(items, name)

    def measure(self, cells: Mapping[str, Sequence[Ranking]]) -> dict[str, Any]:
        measured = table3.measure(cells, self.config.max_rank, self.config.ddof)
        best = rankings.cases(cells[measured["best"]])
        return measured | {"factors": self.config.factors(best)}

    def tables(self, content: Mapping[str, Any]) -> list[Table]:
        return table3.tables(content)

    def below(self, content: Mapping[str, Any]) -> list[str]:
        return factors.below(content, table3.FOOTNOTE)
