"""Tables as HTML for notebooks."""

from figlang import tables
from figlang.statistics.metrics import Estimate
from figlang.tables import Table

SHARE = Estimate(0.5, 0.4, 0.6, 100, 0.5, 1.0, 5)


def test_any_text_stays_text_and_numbers_stand_on_the_right() -> None:
    table = Table("t", "A <title>", ("<i>name</i>", "share"), (("a & b", SHARE), ("</td>\x1b[1m", None)))
    page = tables.html([table], ["x < y"])
    assert page.count("<table>") == page.count("</table>") == 1
    for harmful in ("<title>", "<i>", "</td>\x1b", "\x1b"):
        assert harmful not in page
    for kept in ("A &lt;title&gt;", "a &amp; b", "50.0 (40.0 – 60.0) †", "x &lt; y"):
        assert kept in page
    assert page.count('<td style="text-align: right">') == page.count('<td style="text-align: left">') == 2


def test_a_note_stands_there_once() -> None:
    table = Table("t", "title", ("a", "b"), (("x", SHARE),), ("A note.",))
    page = tables.html([table], ["A note."])
    assert page.count("A note.") == 1
    assert page.count("Fewer than") == 1
