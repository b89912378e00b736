"""Examples before a scored text: k metaphors with their right answers (Liu et al. 2022, §5.1).

The authors drew from a web page's list without a seed (GPT-2) or from the evaluated items themselves (GPT-3);
here they come from the training items, seeded, and never show an item itself, its twin or its metaphor.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.text.tidying import fold
from figlang.types import Item


@dataclass(frozen=True)
class Pool:
    """The labelled items or texts that examples are drawn from, with the name and hash of their file."""

    examples: tuple[Item | str, ...] = ()
    source: str = "none"


def draw(
    items: Sequence[Item], examples: Sequence[Item | str], worded: Callable[[Item], str], prompt: PromptConfig
) -> dict[str, str]:
    """The text before the strings of every item, by the item's id; empty for k = 0. Arguments and errors are
    those of `drawn`."""
    return {
        name: "".join(text + prompt.separator for text in several)
        for name, several in drawn(items, examples, worded, prompt).items()
    }


def drawn(
    items: Sequence[Item], examples: Sequence[Item | str], worded: Callable[[Item], str], prompt: PromptConfig
) -> dict[str, list[str]]:
    """The examples before the strings of every item, by the item's id; none for k = 0.

    A draw is without replacement. It depends only on the seed and the pair's (or item's) name, not on other
    items, their order or number. `worded` turns an item into an example; a text is used unchanged.

    Raises FiglangError if fewer than k examples are left.

    Args:
        items: The items.
        examples: Items or texts to draw from.
        worded: Makes an example of an item.
        prompt: Settings of the prompt: number, seed and unit of the draws.
    """
    if not prompt.k:
        return {item.id: [] for item in items}
    keys = {item.id: {"split": "", "pair": item.group, "item": item.id}[prompt.per] for item in items}
    twins: dict[str, set[str]] = defaultdict(set)
    for item in items:
        twins[item.group].add(fold(item.context))
    hidden: dict[str, set[str]] = defaultdict(set)
    for item in items:
        hidden[keys[item.id]] |= twins[item.group]
    contexts = [None if isinstance(one, str) else fold(one.context) for one in examples]
    texts = [one if isinstance(one, str) else worded(one) for one in examples]
    shown = {}
    for key, unseen in hidden.items():
        usable = [text for text, context in zip(texts, contexts, strict=True) if context not in unseen]
        if len(usable) < prompt.k:
            hides_more = prompt.per == "split"
            raise FiglangError(
                f"prompt.k={prompt.k} examples are wanted, but prompt.source={prompt.source} has only "
                f"{len(usable)} besides the items themselves; lower "
                f"prompt.k{', or draw with prompt.per=pair' if hides_more else ''}"
            )
        shown[key] = random.Random(f"{prompt.seed}/{key}").sample(usable, prompt.k)
    return {item.id: shown[keys[item.id]] for item in items}
