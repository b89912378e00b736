"""Every form of every kind of cell (figlang/tables/), with text that would be read as syntax."""

import re
from io import StringIO

import pytest
from rich.console import Console

from figlang import tables
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables import Mean, Number, PValue, Range, Table

TABLE = Table(
    "t",
    "50 % & more",
    ("system", "share", "p", "r", "spread"),
    (
        ("a_b|c", Estimate(0.5, 0.4, 0.6, 10), PValue(0.0001), Number(0.25), Mean.over((0.5, 0.7))),
        ("none", None, None, None, None),
    ),
    ("A note.",),
)


def test_a_table_as_markdown() -> None:
    assert tables.markdown(TABLE).splitlines()[2:6] == [
        "| system | share | p | r | spread |",
        "|---|---:|---:|---:|---:|",
        "| a_b\\|c | 50.0 (40.0 – 60.0) | < 0.001 | 0.250 | 60.0 ± 14.1 |",
        "| none | – | – | – | – |",
    ]


def test_a_table_as_csv_has_every_part_of_an_estimate() -> None:
    lines = tables.comma_separated(TABLE).splitlines()
    assert (
        lines[0] == "system,share,share low,share high,share n,share sd,share clusters,p,r,spread,spread sd"
    )
    assert lines[1].startswith("a_b|c,0.5,0.4,0.6,10,,,0.0001,0.25,0.6,0.1414")


def test_a_table_as_latex_is_booktabs_with_everything_escaped() -> None:
    whole = tables.latex(TABLE)
    assert r"\caption{50 \% \& more}" in whole
    assert r"a\_b$|$c & 50.0 (40.0 -- 60.0) & $<$ 0.001 & 0.250 & 60.0 $\pm$ 14.1 \\" in whole
    assert all(rule in whole for rule in (r"\toprule", r"\midrule", r"\bottomrule"))


def test_how_cells_are_read() -> None:
    half = Estimate(0.5, 0.425, 0.575, 10)
    assert [tables.text(cell) for cell in (None, 12, "x", Number(-0.0001), PValue(0.0), PValue(0.25))] == [
        "–",
        "12",
        "x",
        "0.000",
        "< 0.001",
        "0.250",
    ]
    assert (tables.text(half), tables.text(half, brief=True)) == ("50.0 (42.5 – 57.5)", "50.0 (42–57)")
    assert tables.text(Difference(0.025, -0.01, 0.06, 0.2, 10)) == "+2.5 (-1.0 – +6.0)"
    mean = Mean(0.417, 0.382, 0.2, 0.6, 8)
    assert tables.text(mean, brief=True) == "41.7 ± 38.2 (20–60)"
    assert (tables.text(Mean(0.5)), tables.text(Mean(0.5, 0.1))) == ("50.0", "50.0 ± 10.0")


BLOCKS = Table.of_blocks(
    "b",
    "B",
    ["", "share"],
    [[["one", Mean(0.5, 0.1, 0.4, 0.6, 8)], ["two", "*"]], [], [["three", ""]]],
    brief=True,
)


def test_blocks_are_set_off_and_empty_ones_left_out() -> None:
    assert BLOCKS.ruled == (2,)
    assert tables.latex(BLOCKS).count(r"\midrule") == 2
    out = StringIO()
    tables.show([BLOCKS], ["below"], Console(file=out, width=60))
    assert "50.0 ± 10.0 (40–60)" in out.getvalue()
    assert out.getvalue().rstrip().endswith("below")


@pytest.mark.parametrize("width", [40, 80, 134, 200])
def test_a_terminal_shows_a_table_the_same_way_round_as_a_paper(width: int) -> None:
    columns = tuple(f"a heading of column {place}" for place in range(6))
    wide = Table("w", "W", columns, tuple(tuple(f"{row}.{place}" for place in range(6)) for row in range(2)))
    out = StringIO()
    tables.show([wide], [], Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    rows = [line.split() for line in lines if re.match(r" ?[01]\.0", line)]
    shown = [cell for row in rows for cell in row]
    assert {f"{row}.{place}" for row in range(2) for place in range(6)} <= set(shown)
    assert len({row[0] for row in rows}) == 2, "a row begins with its name, in every part of the table"


def test_what_can_be_missed_is_left_out_before_a_table_is_set_in_parts() -> None:
    cells = tuple(Estimate(0.5, 0.4, 0.6, 10) for _ in range(4))
    wide = Table("w", "W", ("system", "a", "b", "c", "d"), (("one", *cells),), optional=("b", "d"))
    out = StringIO()
    tables.show([wide], [], Console(file=out, width=64))
    assert "Not shown for want of room: d" in out.getvalue()
    narrow = tables.latex(wide, 150)
    assert "Left out for want of room: b, d." in narrow
    assert narrow.count(r"\toprule") == 1
    assert tables.latex(wide).count("40.0 -- 60.0") == 4


def test_a_long_table_ends_at_the_end_of_a_page_with_a_note() -> None:
    long = Table("t", "T", ("a",), tuple((str(row),) for row in range(1000)))
    whole = tables.latex(long)
    assert whole.count(r"\\") < 60
    assert "of 1,000 rows; all are in t.csv" in whole


def test_letters_that_pdflatex_has_not_are_kept_for_engines_that_have_them() -> None:
    whole = tables.latex(Table("t", "Zoë’s हिन्दी", ("a",), (("ಕ",),)))
    assert r"\caption{Zoë’s \otherscript{हिन्दी}}" in whole
    assert whole.startswith(r"\providecommand{\otherscript}")


def test_the_parts_of_a_mean_are_columns() -> None:
    lines = tables.comma_separated(BLOCKS).splitlines()
    assert lines == [
        ",share,share low,share high,share n,share sd",
        "one,0.5,0.4,0.6,8,0.1",
        "two,*,,,,",
        "three,,,,,",
    ]


def test_an_interval_is_two_columns_and_a_share_without_any_is_one() -> None:
    table = Table(
        "t", "T", ("r", "95 % CI", "same"), ((Number(0.5), Range(0.25, 0.75), Mean(0.9)), (None, None, None))
    )
    assert tables.comma_separated(table).splitlines() == [
        "r,95 % CI low,95 % CI high,same",
        "0.5,0.25,0.75,0.9",
        ",,,",
    ]
    assert table.texts[0] == ["0.500", "0.25 – 0.75", "90.0"]


def test_a_document_has_its_tables_and_no_marks_of_markdown_by_accident() -> None:
    whole = tables.document("D", [BLOCKS, TABLE], ["* selected"])
    assert whole.startswith("# D\n\n**B**\n\n|  | share |\n")
    assert "| two | \\* |" in whole
    assert whole.endswith("\n\\* selected\n")


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, "–"),
        (0.0009, "< 0.001"),
        (0.001, "0.001"),
        (0.0494, "0.049"),
        (0.0499, "< 0.05"),
        (0.05, "0.050"),
        (1.0, "1.000"),
    ],
)
def test_a_p_value_is_never_rounded_to_zero_or_up_to_the_level(p: float | None, shown: str) -> None:
    assert tables.p_value(p) == shown


def test_cells_are_searched_once_for_the_mark_of_few_clusters() -> None:
    table = Table("t", "T", ("share",), ((Estimate(0.5, 0.4, 0.6, 10, clusters=2),),))
    assert table.footnotes is table.footnotes
