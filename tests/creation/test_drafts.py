"""Rows as writers fill them in: each fault is named with its row, and a good row is a pair."""

from pathlib import Path

import pytest

from figlang.creation import checks, drafts
from figlang.errors import FiglangError
from tests.creation.written import rows, table


def test_a_row_is_a_pair_in_which_the_meanings_swap(tmp_path: Path) -> None:
    found = drafts.read(table(tmp_path / "f.csv", rows(2)))
    assert [(item.id, item.group) for item in found.items] == [
        ("p0-1", "p0"),
        ("p0-2", "p0"),
        ("p1-1", "p1"),
        ("p1-2", "p1"),
    ]
    assert [item.options[item.gold or 0] for item in found.items] == [
        row[part] for row in rows(2) for part in ("meaning1", "meaning2")
    ]
    assert found.items[0].options == found.items[1].options
    assert found.items[0].gold != found.items[1].gold
    assert not found.faults


def test_an_id_does_not_tell_the_place_of_the_right_option(tmp_path: Path) -> None:
    """People get a sheet with ids and options. The place was the number at the end of every id."""
    found = drafts.read(table(tmp_path / "f.csv", rows(60)))
    firsts = [item.gold for item in found.items if item.id.endswith("-1")]
    assert 15 < sum(gold == 0 for gold in firsts) < 45
    again = drafts.read(table(tmp_path / "f.csv", rows(60)[30:]))
    # What people chose stays a choice of the same option.
    assert all(item in found.items for item in again.items)


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


@pytest.mark.parametrize(("old", "new"), [("meaning2", "sense2"), ("metaphor1", "Metaphor1")])
def test_a_table_of_prompts_with_another_header_is_named(tmp_path: Path, old: str, new: str) -> None:
    path = table(tmp_path / "f.csv", rows(1))
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FiglangError, match=f"no column '{old}' .* needs metaphor1, metaphor2"):
        drafts.read(path)


def test_columns_that_cannot_be_guessed_are_named_where_create_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("x,y,z\n1,2,3\n", encoding="utf-8")
    with pytest.raises(FiglangError, match=r"figlang describe takes data.columns, and writes the YAML file"):
        drafts.read(path)


def test_rows_with_the_same_fault_are_faults_each(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    lines = [
        '{"context": "a", "options": ["x", "y"], "gold": 0}',
        *['{"context": "", "options": ["x", "y"]}'] * 2,
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    faults = drafts.read(path).faults
    assert [fault.place for fault in faults if "empty context" in fault.what] == ["row 2", "row 3"]


def test_what_a_reader_notes_has_its_row(tmp_path: Path) -> None:
    path = table(tmp_path / "f.csv", rows(2))
    with path.open("a", encoding="utf-8") as file:
        file.write("too,few\n")
    (fault,) = drafts.read(path).faults
    assert (fault.place, fault.check) == ("row 3", "file")
    assert fault.what.startswith("2 cells under 7 columns, row left out")


def test_options_that_nobody_can_tell_apart_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    lines = ["saying,a,b,right", "It is rain,wet,Wet.,0", "It is sun,dry,it is sun,0", "It is ice,cold,hot,0"]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = [fault for fault in drafts.read(path).faults if fault.check == "meanings"]
    assert [fault.what for fault in found] == ["two options are the same", "an option repeats the context"]
    kept = checks.items(drafts.read(path), 0.75).kept
    assert [item.context for item in kept] == ["It is ice"]


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


def test_pairs_without_a_column_of_clusters_are_a_finding(tmp_path: Path) -> None:
    """Otherwise the items of a pair are in different splits, and guessers learn from the other item."""
    file = tmp_path / "own.csv"
    file.write_text("context,option1,option2,label\nit is a,great,small,0\nit is b,great,small,1\n")
    (found,) = [fault.what for fault in drafts.read(file).faults if "look like pairs" in fault.what]
    assert found.endswith("figlang describe takes data.columns, and writes the YAML file that file= takes")


def test_neighbours_of_a_table_in_the_form_of_fig_qa_are_pairs_as_data_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("startphrase,ending1,ending2,labels\nit is a,great,small,0\nit is b,great,small,1\n")
    found = drafts.read(file)
    assert [item.group for item in found.items] == ["own-1", "own-1"]
    assert not found.faults


def test_columns_that_were_guessed_are_said_and_are_not_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("context,option1,option2,label\nit is a,great,small,0\nit is b,good,bad,1\n")
    found = drafts.read(file)
    assert not found.faults
    assert found.guess.startswith("own.csv: columns context=context,options=option1+option2")
    assert "figlang describe takes data.columns" in found.guess


def test_blank_cells_of_a_row_are_one_sentence(tmp_path: Path) -> None:
    some = rows(2)
    some[0]["meaning1"] = some[1]["meaning1"] = some[1]["meaning2"] = ""
    found = [fault.what for fault in drafts.read(table(tmp_path / "p.csv", some)).faults]
    assert found == ["meaning1 is blank", "meaning1, meaning2 are blank"]
