"""Texts are broken into lines that fit, whatever they hold."""

import pytest

from figlang.tables import Table, fitting


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two three", ["one", "two", "three"]),
        ("abcdefghijkl", ["abcde", "fghij", "kl"]),
        ("ab cdefghijkl  ", ["ab", "cdefg", "hijkl"]),
    ],
)
def test_lines_of_five_letters(text: str, lines: list[str]) -> None:
    assert fitting.wrapped(text, 5, len) == lines


def test_a_letter_wider_than_a_line_has_a_line_of_its_own() -> None:
    assert fitting.wrapped("abc", 0.5, len) == ["a", "b", "c"]


def test_a_long_word_is_measured_a_line_at_a_time() -> None:
    measured = []

    def measure(text: str) -> int:
        measured.append(len(text))
        return len(text)

    assert len(fitting.wrapped("x" * 3000, 30, measure)) == 100
    # A line is measured from its first letter on, and what is left of the word once per line: 0.2 million.
    assert sum(measured) < 500_000


@pytest.mark.parametrize(("room", "widths"), [(200, (40, 10, 60)), (62, (25, 10, 25)), (26, (8, 8, 8))])
def test_room_is_shared_among_the_columns_that_need_it(room: float, widths: tuple[float, ...]) -> None:
    table = Table("t", "T", ("a", "b", "c"), (("x" * 40, "x" * 10, "x" * 60),))
    found = fitting.fit(table, room, 1, [fitting.Attempt(len, False)], 8)
    assert [panel.widths for panel in found.panels] == [widths]
