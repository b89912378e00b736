"""Questions for chat models: the options have letters, and the reply names one."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter, ascii_uppercase

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks.blind import without
from figlang.types import Item, Prompted

# A context with two options as a question. Liu et al. 2022 published none: this wording is figlang's.
TEMPLATES = {
    "meaning": '"{metaphor}"\nWhich of the following two statements does that mean?\n(A) {a}\n(B) {b}'
}
# What a text would be continued from. It is not a part of a message, which ends with an instruction.
CUE = re.compile(r"\s+(?:A|Answer):\s*$")


@dataclass(frozen=True)
class Lettered:
    """An item with the options in the order that is shown, and the message that asks for a letter.

    `source` is the item as it was read. `places` holds the shown position of each of its options.
    """

    item: Item
    source: Item
    places: tuple[int, ...]
    message: str


def as_asked(prompted: Sequence[Prompted]) -> list[Lettered]:
    """Questions whose text already shows the options with letters, in the items' own order."""
    return [
        Lettered(one.item, one.item, tuple(range(len(one.item.options))), _message(one.prompt, one.item))
        for one in prompted
    ]


def about_pairs(
    items: Sequence[Item], prompt: PromptConfig, orders: str, shown: Mapping[str, str]
) -> list[Lettered]:
    """Turn items with two options into questions. `shown` holds the text before each question, by the item's
    id.

    `both` asks each item in both orders of its options, as two items. `drawn` asks it in one order, drawn
    with the prompt's seed and the item's id only. Raises FiglangError if the prompt is not a question about
    such items.
    """
    template = _template(prompt)
    return [
        Lettered(ordered, item, places, _message(shown[item.id] + _worded(template, ordered), ordered))
        for item in items
        for ordered, places in (
            [_in_order(item, _draw(item, prompt.seed))] if orders == "drawn" else _both(item)
        )
    ]


def example(item: Item, prompt: PromptConfig) -> str:
    """An example: an item with its options in a drawn order, and the letter of the gold option."""
    ordered, _ = _in_order(item, _draw(item, prompt.seed))
    return f"{_worded(_template(prompt), ordered)}\n({ascii_uppercase[ordered.gold or 0]})"


def _message(question: str, item: Item) -> str:
    letters = ascii_uppercase[: len(item.options)]
    question = CUE.sub("", question)
    return f"{question}\n\nAnswer with one letter only: {', '.join(letters[:-1])} or {letters[-1]}."


def _template(prompt: PromptConfig) -> str:
    text = TEMPLATES.get(str(prompt.question)) if prompt.template is None else prompt.template
    if text is None:
        raise FiglangError(
            f"prompt={prompt.name} is not a question about a context with two options; use "
            f"prompt.question={next(iter(TEMPLATES))}, or leave it out"
        )
    try:
        places = {place for _, place, _, _ in Formatter().parse(text) if place is not None}
    except ValueError as error:
        raise FiglangError(
            f"prompt.template={text!r} cannot be read ({error}); write a brace that is text twice"
        ) from error
    if places - {"metaphor"} != {"a", "b"} or not ("(A)" in text and "(B)" in text):
        raise FiglangError(
            f"prompt.template={text!r} must show (A) {{a}} and (B) {{b}} to be answered by a letter"
        )
    return text


def _worded(template: str, item: Item) -> str:
    _require_two_options(item)
    if not item.context:
        template = without(template, "{metaphor}")
    return template.format(
        metaphor=item.context.strip(), a=item.options[0].strip(), b=item.options[1].strip()
    )


def _require_two_options(item: Item) -> None:
    if len(item.options) != 2:
        raise FiglangError(
            f"item {item.id} has {len(item.options)} options, and the question of scoring=letter shows two; "
            "use another scoring=, or give its task Questions with letters() of their own"
        )


def _both(item: Item) -> list[tuple[Item, tuple[int, ...]]]:
    _require_two_options(item)
    found = []
    for number, order in enumerate(((0, 1), (1, 0)), start=1):
        ordered, places = _in_order(item, order)
        where = "label hidden" if ordered.gold is None else ("right first", "wrong first")[ordered.gold]
        attributes = {**item.attributes, "order": (where,)}
        found.append((replace(ordered, id=f"{item.id}/{number}", attributes=attributes), places))
    return found


def _in_order(item: Item, order: Sequence[int]) -> tuple[Item, tuple[int, ...]]:
    """Put the options of an item in `order`. Returns the item, and the new position of each option."""
    places = tuple(list(order).index(option) for option in range(len(order)))
    gold = None if item.gold is None else places[item.gold]
    return replace(item, options=tuple(item.options[option] for option in order), gold=gold), places


def _draw(item: Item, seed: int) -> list[int]:
    return random.Random(f"{seed} {item.id}").sample(range(len(item.options)), len(item.options))
