"""How items are put in words: as one text, as a prompt that an answer continues, or as a message.

A task has one object of this kind for each value of `data.question`. The class below is for items whose
context is followed by one of its options.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks import examples, lettered
from figlang.tasks.examples import Pool
from figlang.tasks.lettered import Lettered
from figlang.types import Blank, Item, Prompted

# A conversation as one text: its turns, and whether the last of them is to be continued.
Template = Callable[[list[dict[str, str]], bool], str]


class Questions:
    """Context and option are one text. In a chat an item is a question with lettered options."""

    continued: bool = False
    """Whether a prompt is continued by an answer. If not, context and option are one text, and the templates
    of `scoring=` word it."""
    by_letter: bool = False
    """Whether the answers that continue a prompt are letters. Every form of a letter counts."""
    orders: str | None = None
    """The orders of options that a chat is asked in; None: `scoring.orders` decides."""
    classes: tuple[str, ...] = ()
    """The classes of items that are premises with hypotheses, which only NLI networks read; none for other
    items."""
    fills: bool = False
    """Whether items have a blank and no options to choose from."""
    instead: str = ""
    """Advice for models that can choose only between texts; empty if these items are such a choice."""

    def check(self, prompt: PromptConfig, source: str) -> None:
        """Refuse a prompt that cannot be used with these items.

        Raises:
            FiglangError: The prompt asks a question, and the items of `source` are put as text.
        """
        if prompt.question is not None and not self.continued:
            raise FiglangError(
                f"prompt={prompt.name} asks questions, but the items of {source} are not questions; use "
                "other data, or leave it out"
            )

    def ask(
        self,
        items: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        blind: bool = False,
        template: Template | None = None,
    ) -> list[Prompted]:
        """The items as prompts with the answers that continue them; only where `continued`.

        Args:
            items: What is asked about.
            prompt: The settings of the prompt.
            pool: What examples are drawn from.
            blind: Whether the context is hidden.
            template: Makes a conversation of a prompt; None leaves it a text.

        Returns:
            A prompt for each item, in their order.

        Raises:
            FiglangError: The prompt asks nothing about such items.
        """
        raise NotImplementedError

    def blanks(self, items: Sequence[Item], name: str, form: str) -> list[Blank]:
        """The items as texts with a blank, at which a model ranks words; only where it `fills`.

        Args:
            items: What is asked about.
            name: The prompt.
            form: `quote` or `insert`, as in `RankingConfig`.

        Returns:
            A blank for each item, in their order.

        Raises:
            FiglangError: The prompt does not exist, or an item has no answers.
        """
        raise NotImplementedError

    def settled(self, prompt: PromptConfig) -> PromptConfig:
        """The prompt with its defaults filled in, for a question that is answered by a letter."""
        separator = "\n\n" if prompt.separator == "\n" else prompt.separator  # a question has several lines
        return replace(
            prompt, separator=separator, reply="letter", layout="lines", question=prompt.question or "meaning"
        )

    def letters(
        self,
        items: Sequence[Item],
        share: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        orders: str,
        blind: bool = False,
    ) -> list[Lettered]:
        """Messages about the items of `share`, a part of `items`, that are answered by a letter.

        A class that words them in its own way overrides `settled` too. Its `question` is the name of the
        wording in a signature.

        Args:
            items: All items of the split: none of them is an example if the examples are for the whole split.
            share: The items to ask about.
            prompt: The settled prompt.
            pool: What examples are drawn from.
            orders: `both` orders of the options, or one that is `drawn`.
            blind: Whether the context is hidden.

        Returns:
            The messages, in the order of `share`.

        Raises:
            FiglangError: The prompt shows no letters, or too few examples are left.
        """
        shown = examples.drawn(items, pool.examples, lambda item: lettered.example(item, prompt), prompt)
        asked = [item.hidden() for item in share] if blind else share
        return lettered.about_pairs(asked, prompt, orders, shown)

    def wordings(self, items: Sequence[Item], prompt: PromptConfig) -> dict[str, PromptConfig]:
        """Five wordings of the question for chat models, by their names.

        Args:
            items: What is asked about.
            prompt: The settings that all of them share.
        """
        return {name: replace(prompt, question=name) for name in lettered.TEMPLATES}

    def describe(self, prompt: PromptConfig) -> str:
        """The prompt in a signature."""
        return describe(prompt)

    def facts(self, prompt: PromptConfig) -> dict[str, Any]:
        """Other settings of the prompt for the signature, by name."""
        return {}


def describe(prompt: PromptConfig) -> str:
    """The wording of a question in a signature."""
    text = "" if prompt.template is None else f"template={prompt.template!r},"
    shots = (
        f",k={prompt.k},per={prompt.per},separator={prompt.separator!r},seed={prompt.seed}"
        if prompt.k
        else ""
    )
    return f"{prompt.question}({text}reply={prompt.reply},case={prompt.case},layout={prompt.layout}{shots})"
