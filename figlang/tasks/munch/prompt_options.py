"""Options that MUNCH's judgement and generation tables share: several prompts, and statistical tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config.section import COUNT, option, words
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.statistics import association
from figlang.tasks.munch import factors


@dataclass
class PromptsConfig(ReproduceConfig):
    """Several prompts of one question, and the tests of Tables 10 to 12."""

    prompts: list[str] = words("Ids of prompts, instead of prompt.question. Empty: all prompts.")
    ddof: int = option(
        1,
        "Standard deviation over prompts. 1: the prompts are a sample. 0: the prompts are all that exist.",
        ("0", "1"),
    )
    quantity_test: str = option(
        "welch",
        "Test whether novelty differs between right and wrong answers.",
        ("welch", "mann_whitney"),
    )
    class_test: str = option(
        "chi2",
        "Test of two classes of genre or part of speech. chi2 has no continuity correction: it is the z test "
        "of two proportions.",
        ("chi2", "chi2_yates", "fisher"),
    )
    least: int = option(
        20, "Smallest class that is tested. MUNCH has only 10 triples with an adverb.", within=COUNT
    )

    def factors(self, best: Sequence[association.Case]) -> dict[str, Any]:
        """Tables 10 to 12: whether right answers to the best prompt depend on novelty, genre or part of
        speech."""
        return factors.measure(best, self.quantity_test, self.class_test, self.least)
