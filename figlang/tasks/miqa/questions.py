"""MiQA's items as questions."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks.examples import Pool
from figlang.tasks.lettered import Lettered, as_asked
from figlang.tasks.miqa import prompts
from figlang.tasks.questions import Questions, Template
from figlang.types import Item, Prompted

# The beginning of an answer, which a message leaves out.
BEGUN = re.compile(r"\s+Answer: It (?:could imply|is implied by)\s*$")


class Implications(Questions):
    """Which of two statements does a sentence imply, or which implies it?"""

    continued = True
    orders = "all"

    def ask(
        self,
        items: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        blind: bool = False,
        template: Template | None = None,
    ) -> list[Prompted]:
        shots, rows = _drawn_from(prompt, pool)
        return prompts.ask(items, prompts.wording_of(prompt), shots, rows, blind)

    def settled(self, prompt: PromptConfig) -> PromptConfig:
        return super().settled(replace(prompt, question=prompt.question or "numbered"))

    def wordings(self, items: Sequence[Item], prompt: PromptConfig) -> dict[str, PromptConfig]:
        return {name: replace(prompt, question=name) for name in prompts.WORDINGS}

    def letters(
        self,
        items: Sequence[Item],
        share: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        orders: str,
        blind: bool = False,
    ) -> list[Lettered]:
        if not prompts.wording_of(prompt).has_answers:
            raise FiglangError(
                f"prompt={prompt.name} shows its options without letters; use prompt=miqa_numbered"
            )
        asked = self.ask(share, prompt, pool, blind)
        shots, rows = _drawn_from(prompt, pool)
        shown = prompts.shown(share, prompts.wording_of(prompt), shots, rows)
        whole = [replace(each, prompt=BEGUN.sub("", each.prompt)) for each in asked]
        return as_asked(whole, shown, prompt.separator)

    def facts(self, prompt: PromptConfig) -> dict[str, Any]:
        return {"shots": prompt.k}


def _drawn_from(prompt: PromptConfig, pool: Pool) -> tuple[prompts.Shots, list[Item]]:
    """How examples are drawn, and the items that they are drawn from."""
    shots = prompts.Shots(prompt.k, prompt.seed, prompt.per, prompt.separator)
    return shots, [each for each in pool.examples if isinstance(each, Item)]
