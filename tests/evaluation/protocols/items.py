"""A pair of items that protocols ask about, and the example that stands before them."""

from figlang.types import Item

PAIR = [
    Item("p-1", "p", "Her word is steel", ("It holds", "It fails"), 0),
    Item("p-2", "p", "Her word is sand", ("It holds", "It fails"), 1),
]
SHOWN = Item("q-1", "q", "It was a breeze", ("It was easy", "It was hard"), 0)
