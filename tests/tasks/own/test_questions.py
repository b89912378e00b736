"""Letters for any number of options."""

import pytest

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.runs.orders import as_asked
from figlang.tasks.examples import Pool
from figlang.tasks.own.questions import Choices
from figlang.types import Item

ITEMS = [
    Item(f"i{n}", f"i{n}", f"Text {n}", tuple(f"option {n}.{k}" for k in range(n)), n - 1) for n in (2, 4, 26)
]
PROMPT = Choices().settled(PromptConfig())


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_every_option_has_every_letter_once(item: Item) -> None:
    turns = Choices().letters([item], [item], PROMPT, Pool(), "both")
    assert [one.item.id for one in turns] == [f"{item.id}/{n + 1}" for n in range(len(item.options))]
    for option in range(len(item.options)):
        assert sorted(one.places[option] for one in turns) == list(range(len(item.options)))


def test_items_with_unequal_numbers_of_options_count_alike() -> None:
    for orders in ("both", "drawn"):
        asked = Choices().letters(ITEMS, ITEMS, PROMPT, Pool(), orders)
        counts = {item.id: sum(one.source is item for one in asked) for item in ITEMS}
        assert len(set(counts.values())) == 1, "an item counts once for each order that it is asked in"
    # A process that asks about a part of the items asks in the same orders.
    asked = Choices().letters(ITEMS, ITEMS, PROMPT, Pool(), "both")
    part = Choices().letters(ITEMS, ITEMS[1:2], PROMPT, Pool(), "both")
    assert part == [one for one in asked if one.source is ITEMS[1]]
    # The ids say how far the options are turned, by which a report finds them again.
    known = {item.id: item for item in as_asked(ITEMS, [one.item.id for one in asked])}
    assert all(known[one.item.id].options == one.item.options for one in asked)


def test_no_letter_is_right_more_often_than_chance_if_the_first_option_always_is() -> None:
    four = [Item(f"f{n}", f"f{n}", "Text", ("right", "b", "c", "d"), 0) for n in range(400)]
    asked = Choices().letters([ITEMS[0], *four], four, PROMPT, Pool(), "both")
    right = [one.item.gold for one in asked]
    assert len(right) == 800
    assert all(150 < right.count(letter) < 250 for letter in range(4))


def test_the_message_shows_what_the_places_say() -> None:
    for one in Choices().letters(ITEMS, ITEMS, PROMPT, Pool(), "drawn"):
        letters = [chr(ord("A") + place) for place in one.places]
        for letter, option in zip(letters, one.source.options, strict=True):
            assert f"({letter}) {option}\n" in one.message
        assert one.item.gold is not None
        assert one.item.options[one.item.gold] == one.source.options[-1]
        assert one.item.id == one.source.id


def test_a_hidden_context_leaves_only_the_options() -> None:
    seen = Choices().letters(ITEMS, ITEMS, PROMPT, Pool(), "drawn")
    hidden = Choices().letters(ITEMS, ITEMS, PROMPT, Pool(), "drawn", blind=True)
    for one, two in zip(seen, hidden, strict=True):
        assert one.message == f"{one.source.context}\n{two.message}"


def test_examples_show_their_right_letter() -> None:
    prompt = Choices().settled(PromptConfig(k=1, per="item"))
    (asked,) = Choices().letters(ITEMS[:1], ITEMS[:1], prompt, Pool((ITEMS[1],)), "drawn")
    shown = asked.message.split("\n\n")[0]
    letter = shown[-2]
    assert f"({letter}) option 4.3" in shown


@pytest.mark.parametrize("template", ["{metaphor}", "{options} {other}", "{options"])
def test_a_template_without_options_is_refused(template: str) -> None:
    prompt = Choices().settled(PromptConfig(question="options", template=template))
    with pytest.raises(FiglangError, match=r"prompt\.template="):
        Choices().letters(ITEMS, ITEMS, prompt, Pool(), "both")


def test_more_options_than_letters_are_refused() -> None:
    item = Item("many", "many", "Text", tuple(f"option {place}" for place in range(27)), 26)
    with pytest.raises(
        FiglangError, match="item many has 27 options, and letters name up to 26; score the texts"
    ):
        Choices().letters([item], [item], PROMPT, Pool(), "both")
    prompt = Choices().settled(PromptConfig(k=1, per="item"))
    with pytest.raises(FiglangError, match="item many has 27 options"):
        Choices().letters(ITEMS, ITEMS, prompt, Pool((item,)), "both")
