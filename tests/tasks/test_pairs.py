"""Which clusters are pairs."""

from figlang.tasks.pairs import is_pair
from figlang.types import Item


def test_a_pair_has_the_same_options_and_different_right_ones() -> None:
    first = Item("1", "voz", "terciopelo", ("suave", "áspera"), 0)
    second = Item("2", "voz", "grava", ("áspera", "suave"), 0)
    assert is_pair([first, second])
    assert not is_pair([first])
    assert not is_pair([first, Item("3", "voz", "seda", ("suave", "áspera"), 0)])
    assert not is_pair([first, Item("3", "voz", "grava", ("suave", "dura"), 1)])
    assert is_pair([Item("4", "voz", "a", ("x", "y"), None), Item("5", "voz", "b", ("y", "x"), None)])
