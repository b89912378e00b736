"""Questions whose options have letters, to be answered by a letter in free text: what chat models are
asked."""

import random
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


@dataclass(frozen=True)
class Lettered:
    """An item whose options stand in the order in which they are shown, and the message that asks for the
    letter of one.

    `source` is the item as it was read, `places` says where each of its options is shown.
    """

    item: Item
    source: Item
    places: tuple[int, ...]
    message: str


def as_asked(prompted: Sequence[Prompted]) -> list[Lettered]:
    """Questions that show their options with letters already, in the items' own order."""
    return [
        Lettered(one.item, one.item, tuple(range(len(one.item.options))), _message(one.prompt, one.item))
        for one in prompted
    ]


def about_pairs(
    items: Sequence[Item], prompt: PromptConfig, orders: str, shown: Mapping[str, str]
) -> list[Lettered]:
    """Items with two options as questions, after the text `shown` before each, by its id.

    `both` asks each in both orders of its options, as items of their own; `drawn` in one, drawn by the
    prompt's seed and the item's id, so that other items change nothing.

    Raises FiglangError for a prompt that is no question about them.
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
    """An item with the letter of its gold option, its options in a drawn order."""
    ordered, _ = _in_order(item, _draw(item, prompt.seed))
    return f"{_worded(_template(prompt), ordered)}\n({ascii_uppercase[ordered.gold or 0]})"


def _message(question: str, item: Item) -> str:
    letters = ascii_uppercase[: len(item.options)]
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
    """The item with its options in `order`, and the place of each of its own options there."""
    places = tuple(list(order).index(option) for option in range(len(order)))
    gold = None if item.gold is None else places[item.gold]
    return replace(item, options=tuple(item.options[option] for option in order), gold=gold), places


def _draw(item: Item, seed: int) -> list[int]:
    return random.Random(f"{seed} {item.id}").sample(range(len(item.options)), len(item.options))
