"""LaTeX tables by hand: widths of texts, rows that fit on a page, and characters that its fonts lack."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

import pytest

from figlang.tables import Table, writing
from figlang.tables.fitting import Attempt, Panel

latex: Any = import_module("figlang.tables.latex")  # the package has a function of this name


def test_the_width_of_a_text_is_that_of_its_letters() -> None:
    # At 9 pt letters are 1.03 as wide as their thousandths of the size; a letter of no class counts 1000.
    assert latex._width(9.0, "") == 0
    assert latex._width(9.0, "Wa") == pytest.approx((1028 + 556) / 1000 * 9 * 1.03)
    assert latex._width(7.0, "ж ") == pytest.approx((1000 + 334) / 1000 * 7 * 1.145)


@pytest.mark.parametrize(
    ("panels", "lines", "fitting"),
    [
        (1, 1, 46),  # 500 - 40 points for a panel, and 10 for a line of letters of 8 points
        (1, 2, 23),
        (2, 1, 21),  # 420 points for the rows of both panels
        (1, 50, 1),  # a row that is higher than a page is shown
    ],
)
def test_the_rows_of_a_page_by_hand(
    monkeypatch: pytest.MonkeyPatch, panels: int, lines: int, fitting: int
) -> None:
    def rows(table: Table, *_: Any) -> list[tuple[str, int]]:
        return [("a row", lines)] * len(table.rows)

    def shown(table: Table, attempt: Attempt, panel: Panel, rows: Sequence[Any], shown: int) -> str:
        return f"{len(rows)} rows, {shown} shown"

    monkeypatch.setattr(latex, "_rows", rows)
    monkeypatch.setattr(latex, "_tabular", shown)
    attempt = Attempt(partial(latex._width, 8.0), False, 8.0)
    for count in (fitting, fitting + 1):
        table = Table("many", "Many", ("a",), tuple((number,) for number in range(count)))
        bodies, found = latex._bodies(table, attempt, [Panel((0,), (9.0,))] * panels)
        assert (found, len(bodies)) == (fitting, panels)
        assert bodies[0] == f"{count} rows, {fitting} shown"


def test_the_signs_of_control_characters_are_question_marks() -> None:
    # They stand for U+0000 to U+0020 and U+007F; pdflatex has none of them, and prints their neighbours.
    assert writing.latex_text("a\x00b\x1bc") == "a?b?c"
    assert writing.latex_text("\u2400\u2410\u2421") == "???"
    assert writing.latex_text("\u23ff") == "\\otherscript{\u23ff}"
    assert writing.latex_text("\u2422") == "\\otherscript{\u2422}"
