"""Accuracy by attribute, computed by hand."""

from collections import Counter

import pytest

from figlang.statistics.breakdown import by_attribute, quarters
from figlang.types import Prediction
from tests.statistics.rows import ROWS, row


def test_a_value_has_its_own_accuracy_and_n() -> None:
    values = {f"i{number}": ("NEWS",) if number < 20 else ("FICTION",) for number in range(40)}
    cells = by_attribute([ROWS], values)
    assert [(cell.value, cell.estimate.n, cell.estimate.value) for cell in cells] == [
        ("FICTION", 20, 0.75),
        ("NEWS", 20, 0.75),
    ]
    assert all(cell.estimate.low <= 0.75 <= cell.estimate.high for cell in cells)


def test_rare_values_are_one_cell_and_an_item_counts_once_in_it() -> None:
    values = {f"i{number}": ("frequent",) for number in range(30)}
    values |= {f"i{number}": ("rare", "also rare") for number in range(30, 34)}
    cells = by_attribute([ROWS], values)
    assert [(cell.value, cell.estimate.n, cell.merged) for cell in cells] == [
        ("frequent", 30, 0),
        ("2 rare values", 4, 2),
    ]


def test_a_single_rare_value_keeps_its_name() -> None:
    cells = by_attribute([ROWS], {f"i{number}": ("frequent" if number else "odd",) for number in range(40)})
    assert [(cell.value, cell.estimate.n) for cell in cells] == [("frequent", 39), ("odd", 1)]


def test_an_interval_of_few_pairs_is_marked() -> None:
    values = {f"i{number}": ("many",) for number in range(40)} | {
        f"i{number}": ("many", "few") for number in range(18)
    }
    assert [
        (cell.value, cell.estimate.clusters, cell.estimate.few) for cell in by_attribute([ROWS], values)
    ] == [
        ("many", 20, False),
        ("few", 9, True),
    ]


def test_a_number_is_broken_down_by_quarters() -> None:
    found = quarters({f"i{number}": (f"{number / 100}",) for number in range(41)} | {"none": ()})
    counts = Counter(value for (value,) in found.values())
    assert counts == {"0.000 – 0.100": 11, "0.100 – 0.200": 10, "0.200 – 0.300": 10, "0.300 – 0.400": 10}
    assert found["i0"] == found["i10"]
    assert quarters({"x": ()}) == {}


def test_hidden_labels_are_not_counted() -> None:
    hidden = [Prediction("h", "h", None, (1.0, 0.0))]
    assert (
        by_attribute([[*ROWS[:12], *hidden]], {**{r.id: ("x",) for r in ROWS[:12]}, "h": ("x",)})[
            0
        ].estimate.n
        == 12
    )


def test_seeds_are_averaged() -> None:
    other = [row(number, right=False) for number in range(40)]
    assert by_attribute([ROWS, other], {r.id: ("x",) for r in ROWS})[0].estimate.value == pytest.approx(0.375)


def test_quarters_of_small_numbers_have_names_of_their_own() -> None:
    """With three digits all were called "0.000 – 0.000", and were one row."""
    values = {str(n): (f"{n / 1e5:.5f}",) for n in range(41)}
    assert set(quarters(values).values()) == {
        ("0.0000 – 0.0001",),
        ("0.0001 – 0.0002",),
        ("0.0002 – 0.0003",),
        ("0.0003 – 0.0004",),
    }
    same = {str(n): ("0.5",) for n in range(4)}
    assert set(quarters(same).values()) == {("0.500 – 0.500",)}
