"""Accuracy by attributes that are numbers, and by those that have the name of one."""

from pathlib import Path

import pytest

from figlang.reports import hardness
from figlang.reports.parts import Chapter, Long
from figlang.runs.systems import Pool, System
from figlang.tables import Table
from figlang.types import Prediction, Split


def breakdown(rows: tuple[Prediction, ...]) -> Table:
    """The table of accuracy by the only attribute of the predictions of one system."""
    chapter = Chapter("t", (Pool("s", (System("s", Path(), {}, rows, ""),)),), {})
    section = hardness.attributes(chapter, {}, "")
    assert section is not None
    (table,) = (part.table for part in section.parts if isinstance(part, Long))
    return table


def test_numbers_are_broken_down_from_the_lowest_quarter_on(sample: Split) -> None:
    rows = tuple(
        Prediction(item.id, item.group, item.gold, (1.0, 0.0), {"novelty": (f"{place / 100 - 0.5}",)})
        for place, item in enumerate(sample.items)
    )
    table = breakdown(rows)
    starts = [float(str(row[0]).partition(" – ")[0]) for row in table.rows]
    assert len(starts) == 4
    assert starts == sorted(starts)


def test_words_under_the_name_of_a_quantity_are_values(sample: Split) -> None:
    """A column `novelty` of own data with the words high and low ended in an error of Python."""
    rows = tuple(
        Prediction(item.id, item.group, item.gold, (1.0, 0.0), {"novelty": ("high" if place % 2 else "low",)})
        for place, item in enumerate(sample.items)
    )
    table = breakdown(rows)
    assert {row[0] for row in table.rows} == {"high", "low"}


@pytest.mark.parametrize("several", [True, False])
def test_items_in_several_rows_are_told_also_beside_items_without_a_value(
    sample: Split, several: bool
) -> None:
    """Half of the items with two values each were as many as all items, and the note was missing."""
    given = {"theme": ("food", "war") if several else ("food",)}
    rows = tuple(
        Prediction(item.id, item.group, item.gold, (1.0, 0.0), given if place % 2 else {})
        for place, item in enumerate(sample.items)
    )
    table = breakdown(rows)
    assert ("An item with several values is in several rows." in table.notes) == several
