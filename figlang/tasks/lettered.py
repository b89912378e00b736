"""Questions for chat models: the options have letters, and the reply names one."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter, ascii_uppercase

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks.blind import without
from figlang.tasks.instructions import LANGUAGES, filled
from figlang.types import Item, Prediction, Prompted

# A context with two options as a question. Liu et al. 2022 published none: these wordings are figlang's.
TEMPLATES = LANGUAGES["en"].questions
# The beginning of an answer, for models that continue a text. A message leaves it out and ends with an
# instruction.
CUE = re.compile(r"\s+(?:A|Answer):\s*$")


@dataclass(frozen=True)
class Lettered:
    """An item with the options in the order that is shown, and the message that asks for a letter.

    `source` is the item as it was read. `places` holds the shown position of each of its options. `before` is
    the part of the message with examples, and `shots` has each example as a question and an answer. `blind`
    says that the message hides the context.
    """

    item: Item
    source: Item
    places: tuple[int, ...]
    message: str
    before: str = ""
    shots: tuple[tuple[str, str], ...] = ()
    blind: bool = False

    @property
    def question(self) -> str:
        """The message without examples and without its last paragraph, the instruction to answer by a letter.

        Raises:
            FiglangError: The message does not end with such a paragraph.
        """
        text, _, last = self.message.rpartition("\n\n")
        if last != instruction(len(self.item.options)):
            raise FiglangError(
                f"the message about item {self.item.id} does not end with the instruction of "
                "protocol=letter, so another protocol cannot replace it; use protocol=letter"
            )
        return text.removeprefix(self.before)

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return ascii_uppercase[: len(self.item.options)]

    def scored(self, scores: Sequence[float]) -> Prediction:
        """The prediction by scores of the options in the order that is shown.

        It has the id of an item, and its scores are in the order of this item's options.
        """
        # If options were asked in a random order, the scores are put back into the order of the item.
        own = self.source if self.item.id == self.source.id else self.item
        places = self.places if own is self.source else tuple(range(len(scores)))
        return Prediction.of(own, tuple(scores[place] for place in places))


def instruction(count: int) -> str:
    """The sentence that asks for one of the first `count` letters."""
    english = LANGUAGES["en"]
    return filled(english.letter, letters=english.letters(count))


def as_asked(
    prompted: Sequence[Prompted], shown: Sequence[Sequence[tuple[str, str]]] = (), separator: str = ""
) -> list[Lettered]:
    """Questions whose text already shows the options with letters, in the items' own order.

    Args:
        prompted: The questions, with their examples.
        shown: The examples of each question, as questions and answers; empty if there are none.
        separator: The text after each example.
    """
    return [
        Lettered(
            one.item,
            one.item,
            tuple(range(len(one.item.options))),
            _message(one.prompt, one.item),
            "".join(f"{question}{answer}{separator}" for question, answer in shots),
            tuple((CUE.sub("", question), answer.strip()) for question, answer in shots),
        )
        for one, shots in zip(prompted, shown or [()] * len(prompted), strict=True)
    ]


def about_pairs(
    items: Sequence[Item], prompt: PromptConfig, orders: str, shown: Mapping[str, Sequence[str]]
) -> list[Lettered]:
    """Turn items with two options into questions. `shown` holds the examples before each question, by the
    item's id.

    `both` asks each item in both orders of its options, as two items. `drawn` asks it in one order, drawn
    with the prompt's seed and the item's id only. Raises FiglangError if the prompt is not a question about
    such items.

    Args:
        items: The items.
        prompt: Settings of the prompt.
        orders: `both` or `drawn`.
        shown: Examples by the item's id.
    """
    template = _template(prompt)
    before = {name: "".join(text + prompt.separator for text in several) for name, several in shown.items()}
    return [
        Lettered(
            ordered,
            item,
            places,
            _message(before[item.id] + _worded(template, ordered), ordered),
            before[item.id],
            as_shots(shown[item.id]),
        )
        for item in items
        for ordered, places in (
            [in_order(item, drawn(item, prompt.seed))] if orders == "drawn" else _both(item)
        )
    ]


def example(item: Item, prompt: PromptConfig) -> str:
    """An example: an item with its options in a drawn order, and the letter of the gold option."""
    ordered, _ = in_order(item, drawn(item, prompt.seed))
    return f"{_worded(_template(prompt), ordered)}\n({ascii_uppercase[ordered.gold or 0]})"


def as_shots(examples: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Examples whose last line is their answer, as questions and answers."""
    divided = (text.rpartition("\n") for text in examples)
    return tuple((question, answer) for question, _, answer in divided)


def _message(question: str, item: Item) -> str:
    question = CUE.sub("", question)
    return f"{question}\n\n{instruction(len(item.options))}"


def places_of(template: str) -> set[str]:
    """The names of the places of a `prompt.template`.

    Raises:
        FiglangError: A brace opens or closes nothing.
    """
    try:
        return {place for _, place, _, _ in Formatter().parse(template) if place is not None}
    except ValueError as error:
        raise FiglangError(
            f"prompt.template={template!r} cannot be read ({error}); write a brace that is text twice"
        ) from error


def _template(prompt: PromptConfig) -> str:
    text = TEMPLATES.get(str(prompt.question)) if prompt.template is None else prompt.template
    if text is None:
        raise FiglangError(
            f"prompt={prompt.name} is not a question about a context with two options; use "
            f"prompt.question={next(iter(TEMPLATES))}, or leave it out"
        )
    if places_of(text) - {"metaphor"} != {"a", "b"} or not ("(A)" in text and "(B)" in text):
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
        ordered, places = in_order(item, order)
        where = "label hidden" if ordered.gold is None else ("right first", "wrong first")[ordered.gold]
        attributes = {**item.attributes, "order": (where,)}
        found.append((replace(ordered, id=f"{item.id}/{number}", attributes=attributes), places))
    return found


def in_order(item: Item, order: Sequence[int]) -> tuple[Item, tuple[int, ...]]:
    """Put the options of an item in another order.

    Args:
        item: The item.
        order: The places of its options, in the order in which they are shown.

    Returns:
        The item, and the new place of each of its options.
    """
    places = tuple(list(order).index(option) for option in range(len(order)))
    gold = None if item.gold is None else places[item.gold]
    return replace(item, options=tuple(item.options[option] for option in order), gold=gold), places


def drawn(item: Item, seed: int) -> list[int]:
    """An order of the options of an item, which depends on the seed and the item's id only.

    Args:
        item: The item.
        seed: The seed of the prompt.
    """
    return random.Random(f"{seed} {item.id}").sample(range(len(item.options)), len(item.options))
