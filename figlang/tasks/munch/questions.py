"""MUNCH's items as questions: judgements of two candidates, and blanks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks.examples import Pool
from figlang.tasks.lettered import Lettered, as_asked
from figlang.tasks.munch import blanks, prompts
from figlang.tasks.questions import Questions, Template
from figlang.types import Blank, Item, Prompted


class Judgements(Questions):
    """Judgements: a letter from A to D says which of two candidates paraphrases a sentence, or both, or
    neither."""

    continued = True
    by_letter = True
    orders = "as read"
    instead = "data=munch_paraphrase asks any model to choose between two sentences"

    def check(self, prompt: PromptConfig, source: str) -> None:
        if prompt.question is None:
            raise FiglangError(
                f"prompt={prompt.name} asks no question; MUNCH needs prompt=munch, with the prompt.question "
                "of an id"
            )
        prompts.form_of(prompt.question)  # or it does not exist

    def ask(
        self,
        items: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        blind: bool = False,
        template: Template | None = None,
    ) -> list[Prompted]:
        return prompts.ask(items, str(prompt.question), prompt.chat, template, blind)

    def settled(self, prompt: PromptConfig) -> PromptConfig:
        return replace(super().settled(prompt), question=prompt.question)

    def letters(
        self,
        items: Sequence[Item],
        share: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        orders: str,
        blind: bool = False,
    ) -> list[Lettered]:
        if prompt.question is None or prompt.k:
            raise FiglangError(
                f"prompt={prompt.name} asks no question of MUNCH; use prompt=munch, with prompt.question of "
                "an id"
            )
        asked = prompts.ask(share, prompt.question, blind=blind)
        # The beginning of an answer is not part of a message.
        cue = f"\n{prompts.ENDING}"
        return as_asked([replace(each, prompt=each.prompt.removesuffix(cue)) for each in asked])

    def wordings(self, items: Sequence[Item], prompt: PromptConfig) -> dict[str, PromptConfig]:
        form = {value for item in items for value in item.attributes.get("form", ())}
        names = [name for name, known in prompts.PROMPTS.items() if known.form in form]
        return {name: replace(prompt, question=name) for name in names[:5]}

    def describe(self, prompt: PromptConfig) -> str:
        return f"{prompt.question}(chat={prompt.chat})"

    def facts(self, prompt: PromptConfig) -> dict[str, Any]:
        """The place of the prompt in the paper's tables: form, condition and number."""
        return {"question": "/".join(map(str, prompts.PROMPTS[str(prompt.question)][:3]))}


class Blanks(Questions):
    """Which word could replace the marked one? The options are the answers that people gave; all of them are
    right."""

    fills = True
    instead = "data=munch has choices"

    def blanks(self, items: Sequence[Item], name: str, form: str) -> list[Blank]:
        return blanks.ask(items, name, form)
