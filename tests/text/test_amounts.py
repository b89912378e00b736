"""Numbers with the words beside them."""

import pytest

from figlang.text.amounts import counted, form, typed


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 items"), (1, "1 item"), (2, "2 items"), (1094, "1,094 items")]
)
def test_a_noun_agrees_with_its_number(number: int, words: str) -> None:
    assert counted(number, "item") == words


def test_a_plural_of_its_own_and_a_verb() -> None:
    assert counted(2, "reply", "replies") == "2 replies"
    assert [form(number, "is", "are") for number in (0, 1, 2)] == ["are", "is", "are"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-4, "1e-4"),
        (5e-5, "5e-5"),
        (0.00015, "1.5e-4"),
        (-2e-6, "-2e-6"),
        (0.001, "0.001"),
        (0.5, "0.5"),
        (0, "0"),
    ],
)
def test_small_numbers_are_shown_as_they_are_typed(value: float, shown: str) -> None:
    assert typed(value) == shown
    assert float(shown) == value
