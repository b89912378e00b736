"""Forms in which programs write a table of Fig-QA's columns."""

from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.tasks.figqa import reading as figqa
from tests.tasks.figqa.test_reading import HEADER, ITEMS, PAIR, write

# Forms in which programs write tables


@pytest.mark.parametrize(
    ("cell", "gold"), [("0.0", 0), ("1.0", 1), ("1.", 1), ("-1.0", None), (" 1.00 ", 1), ("01", 1)]
)
def test_a_label_may_be_written_with_decimals(tmp_path: Path, cell: str, gold: int | None) -> None:
    (item,) = figqa.read(write(tmp_path, f"{HEADER}a,x,y,{cell}\n")).items
    assert item.gold == gold


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_cells_may_be_separated_by_semicolons_or_tabs(tmp_path: Path, delimiter: str) -> None:
    split = figqa.read(write(tmp_path, (HEADER + PAIR).replace(",", delimiter)), strict=True)
    assert split.items == ITEMS


def test_commas_in_cells_do_not_outvote_the_header(tmp_path: Path) -> None:
    path = write(tmp_path, "startphrase;ending1;ending2;labels\nOne, two, three.;so, x;so, y;0\n")
    assert figqa.read(path).items[0].options == ("so, x", "so, y")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "rows", ["a,x,y,1\nb,x,y,2\n", "a,x,y,2\nb,x,y,2\n", "a,x,y,1.0\nb,x,y,2.0\nc,x,y,-1\n"]
)
def test_labels_that_count_from_one_are_refused(tmp_path: Path, rows: str, strict: bool) -> None:
    with pytest.raises(FiglangError, match=r"count from 1|label '2(\.0)?', row left out"):
        figqa.read(write(tmp_path, HEADER + rows), strict)


def test_the_refusal_of_labels_that_count_from_one_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"write 0 for ending1 and 1 for ending2$"):
        figqa.read(write(tmp_path, HEADER + "a,x,y,1\nb,x,y,2\n"))


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"startphrase,ending1,ending2,label\na,x,y,0\n", "rename label to labels"),
        (
            b"Startphrase,Ending1,ending2,labels\na,x,y,0\n",
            "rename Startphrase to startphrase; rename Ending1 to ending1",
        ),
        (b"PK\x03\x04\x14\x00", "an Excel workbook or another zip archive); save the table as CSV in UTF-8"),
        ((HEADER + PAIR).encode("utf-16"), "UTF-16 text); save the table as CSV in UTF-8"),
    ],
)
def test_what_is_nearly_a_table_gets_the_step_that_makes_it_one(
    tmp_path: Path, content: bytes, advice: str
) -> None:
    with pytest.raises(FiglangError) as error:
        figqa.read(write(tmp_path, content))
    assert advice in str(error.value)
