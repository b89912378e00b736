"""Every form of every kind of cell (figlang/tables/), with text that would be read as syntax."""

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


@pytest.mark.parametrize(("width", "fits"), [(40, False), (133, False), (134, True), (200, True)])
def test_a_table_that_is_too_wide_for_the_screen_is_shown_row_by_row(width: int, fits: bool) -> None:
    # Names of 12 characters at least, five columns of 21, three between two, two at the ends.
    columns = tuple(f"a heading of column {place}" for place in range(6))
    wide = Table("w", "W", columns, tuple(tuple(f"{row}.{place}" for place in range(6)) for row in range(2)))
    out = StringIO()
    tables.show([wide], [], Console(file=out, width=width))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    by_rows = [f"{column} {row}.{place}" for row in range(2) for place, column in enumerate(columns)]
    assert ([line for line in lines if line.startswith("a heading of column")] == by_rows) != fits
    if fits:
        assert all(f"{row}.0 {row}.1 {row}.2 {row}.3 {row}.4 {row}.5" in lines for row in range(2))
        assert all(column in out.getvalue() for column in columns[1:])


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
    ("p", "shown"), [(None, "–"), (0.0009, "< 0.001"), (0.001, "0.001"), (0.0499, "0.050"), (1.0, "1.000")]
)
def test_a_p_value_is_never_shown_as_zero(p: float | None, shown: str) -> None:
    assert tables.p_value(p) == shown
