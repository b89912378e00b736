"""Near-duplicates: within a file, and in other data sets."""

from figlang.creation import alike
from figlang.types import Item, Split


def item(name: str, group: str, context: str) -> Item:
    return Item(name, group, context, ("yes", "no"), 0)


ITEMS = [
    item("a1", "a", "the soup is as hot as the sun at noon"),
    item("a2", "a", "the soup is as hot as the sun at night"),
    item("b1", "b", "The soup is as hot as the sun, at noon!"),
    item("c1", "c", "the soup is as hot as the sun in June"),
    item("d1", "d", "nobody hears a whisper in the storm"),
]


def test_items_of_a_group_are_no_duplicates_of_each_other() -> None:
    found = {(one, other) for one, other, _ in alike.within(ITEMS, 0.75)}
    assert ("a1", "b1") in found
    assert ("a1", "a2") not in found
    assert not any("d1" in pair for pair in found)


def test_the_same_words_are_named_at_the_later_group() -> None:
    assert [(fault.place, fault.what) for fault in alike.repeated(ITEMS)] == [("b1", "has the words of a1")]


def test_emoji_alone_are_compared_as_they_are() -> None:
    some = [item("a", "a", "🙂"), item("b", "b", "🦷"), item("c", "c", "🙂.")]
    assert [(fault.place, fault.what) for fault in alike.repeated(some)] == [("c", "has the words of a")]


def test_another_data_set_is_searched() -> None:
    other = Split("other", (item("x", "x", "nobody hears the whisper in a storm"),), "x", "")
    found = alike.elsewhere(ITEMS, "other", other, 0.75)
    assert [(fault.place, fault.check) for fault in found] == [("d1", "elsewhere")]
    assert "x of other" in found[0].what
