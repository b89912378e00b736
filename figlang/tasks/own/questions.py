"""Any number of options with letters, for chat models."""

import random
from collections.abc import Sequence
from dataclasses import replace
from string import ascii_uppercase

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks import examples
from figlang.tasks.blind import without
from figlang.tasks.examples import Pool
from figlang.tasks.lettered import Lettered, as_shots, drawn, in_order, instruction, places_of
from figlang.tasks.questions import Questions
from figlang.types import Item

NAME = "options"
# Other wordings, whose results show how much depends on the words.
WORDINGS = {
    "fits": "{metaphor}\nWhich of these fits best?\n{options}",
    "choose": "{metaphor}\nChoose the right one.\n{options}",
    "correct": "Read this: {metaphor}\nWhich one is correct?\n{options}",
    "answer": "{metaphor}\nWhat is the right answer?\n{options}",
}
TEMPLATE = "{metaphor}\nWhich of the following is right?\n{options}"


class Choices(Questions):
    """A context with as many options as there are letters, or fewer. `prompt.template` words it with the
    places {metaphor} and {options}.

    In several orders, an item is asked about as often as it has options, so that each of them has each letter
    once. If items have unequal numbers of options, each is asked about as often as the smallest number says,
    in drawn orders. Otherwise an item of five options would count more than one of two.
    """

    def settled(self, prompt: PromptConfig) -> PromptConfig:
        return super().settled(replace(prompt, question=prompt.question or NAME))

    def wordings(self, items: Sequence[Item], prompt: PromptConfig) -> dict[str, PromptConfig]:
        every = {NAME: prompt.template or TEMPLATE, **WORDINGS}
        return {name: replace(prompt, question=NAME, template=text) for name, text in every.items()}

    def letters(
        self,
        items: Sequence[Item],
        share: Sequence[Item],
        prompt: PromptConfig,
        pool: Pool,
        orders: str,
        blind: bool = False,
    ) -> list[Lettered]:
        template = _template(prompt)
        for item in share:
            _check_letters(item)

        def example(item: Item) -> str:
            _check_letters(item)
            shown, _ = in_order(item, drawn(item, prompt.seed))
            return f"{_worded(template, shown)}\n({ascii_uppercase[shown.gold or 0]})"

        shots = examples.drawn(items, pool.examples, example, prompt)
        often = min(len(item.options) for item in items)
        asked = []
        for item in share:
            before = "".join(text + prompt.separator for text in shots[item.id])
            turns = {by + 1: _turned(item, by) for by in _turns(item, often, prompt.seed)}
            several = {1: drawn(item, prompt.seed)} if orders == "drawn" else turns
            for number, order in several.items():
                shown, places = in_order(item, order)
                if orders != "drawn":
                    where = "hidden" if shown.gold is None else ascii_uppercase[shown.gold]
                    attributes = {**item.attributes, "letter": (where,)}
                    shown = replace(shown, id=f"{item.id}/{number}", attributes=attributes)
                text = _worded(template, shown.hidden() if blind else shown)
                message = f"{before}{text}\n\n{instruction(len(shown.options))}"
                asked.append(Lettered(shown, item, places, message, before, as_shots(shots[item.id])))
        return asked


def _check_letters(item: Item) -> None:
    if len(item.options) > len(ascii_uppercase):
        raise FiglangError(
            f"item {item.id} has {len(item.options)} options, and letters name up to {len(ascii_uppercase)}; "
            "score the texts of the options, by scoring=answer for example"
        )


def _template(prompt: PromptConfig) -> str:
    if prompt.question not in (None, NAME):
        raise FiglangError(
            f"prompt.question={prompt.question} is not a question about items of your own; use {NAME}, or "
            "leave it out"
        )
    text = TEMPLATE if prompt.template is None else prompt.template
    if places_of(text) - {"metaphor"} != {"options"}:
        raise FiglangError(
            f"prompt.template={text!r} must show {{options}}, and may show {{metaphor}}, to be answered by a "
            "letter"
        )
    return text


def _worded(template: str, item: Item) -> str:
    if not item.context:
        template = without(template, "{metaphor}")
    listed = "\n".join(
        f"({letter}) {option.strip()}" for letter, option in zip(ascii_uppercase, item.options, strict=False)
    )
    return template.format(metaphor=item.context.strip(), options=listed).lstrip()


def _turns(item: Item, often: int, seed: int) -> list[int]:
    """By how many places the options of an item are turned, `often` times. Every turn is equally likely, so
    that a letter that is always chosen is right as often as chance."""
    return sorted(random.Random(f"{seed} {item.id} turns").sample(range(len(item.options)), often))


def _turned(item: Item, by: int) -> list[int]:
    places = list(range(len(item.options)))
    return places[by:] + places[:by]
