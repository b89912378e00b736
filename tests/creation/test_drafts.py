"""Rows as writers fill them in: each fault is named with its row, and a good row is a pair."""

from pathlib import Path

import pytest

from figlang.creation import drafts
from tests.creation.written import rows, table


def test_a_row_is_a_pair_in_which_the_meanings_swap(tmp_path: Path) -> None:
    found = drafts.read(table(tmp_path / "f.csv", rows(2)))
    assert [(item.id, item.group, item.gold) for item in found.items] == [
        ("p0-1", "p0", 0),
        ("p0-2", "p0", 1),
        ("p1-1", "p1", 0),
        ("p1-2", "p1", 1),
    ]
    assert found.items[0].options == found.items[1].options
    assert not found.faults


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"meaning2": " "}, "fields"),
        ({"metaphor2": "A SUBJECT is it."}, "metaphors"),
        ({"meaning2": "It is great0"}, "meanings"),
        ({"meaning1": "A subject is it"}, "meanings"),
        ({"id": "p1"}, "fields"),
    ],
)
def test_a_fault_is_named_and_its_row_left_out(tmp_path: Path, changed: dict[str, str], check: str) -> None:
    some = rows(2)
    some[0]["metaphor1"] = "A subject is it."
    some = [some[1], {**some[0], **changed}]
    found = drafts.read(table(tmp_path / "f.csv", some))
    assert {item.group for item in found.items} == {"p1"}
    assert [(fault.place, fault.check) for fault in found.faults] == [("row 2", check)]


def test_rows_that_nobody_has_filled_in_are_counted_alone(tmp_path: Path) -> None:
    blank = {"id": "p9", "frame": "A subject is …"}
    found = drafts.read(table(tmp_path / "f.csv", [*rows(1), blank, blank]))
    assert (found.blank, len(found.items), found.faults) == (2, 2, ())


def test_any_table_is_read_and_a_pair_without_a_swap_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "saying,a,b,right,pair\nIt is rain,wet,dry,0,x\nIt is sun,wet,dry,0,x\nIt is snow,cold,warm,0,y\n"
        "It is fire,cold,warm,1,y\n",
        encoding="utf-8",
    )
    found = drafts.read(path)
    assert len(found.items) == 4
    assert [fault.check for fault in found.faults if fault.check != "file"] == ["swap"]
