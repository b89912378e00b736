"""Laws of figlang/tasks/figqa/reading.py: any file in Fig-QA's form."""

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from figlang.errors import FiglangError
from figlang.tasks.figqa import reading as figqa
from figlang.types import Item, Split

HEADER = "startphrase,ending1,ending2,labels\n"
PAIR = "Her word was titanium.,It holds.,It breaks.,0\nHer word was a wine glass.,It holds.,It breaks.,1\n"
OTHER = (
    "The night was ink.,It was dark.,It was bright.,0\nThe night was a lamp.,It was dark.,It was bright.,1\n"
)


def write(folder: Path, content: str | bytes, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


ITEMS = (
    Item("mine-1", "mine-1", "Her word was titanium.", ("It holds.", "It breaks."), 0),
    Item("mine-2", "mine-1", "Her word was a wine glass.", ("It holds.", "It breaks."), 1),
)


def groups(split: Split) -> list[list[str]]:
    members: dict[str, list[str]] = {}
    for item in split.items:
        members.setdefault(item.group, []).append(item.id)
    return list(members.values())


# A person's file


def test_a_row_becomes_an_item(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + PAIR))
    assert split.items == ITEMS
    assert split.notes == ()


def test_a_split_carries_its_name_source_and_hash(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + PAIR)
    split = figqa.read(path)
    assert (split.name, split.source) == ("mine", str(path))
    # From another implementation: printf '…' | sha256sum
    assert split.sha256 == "fcdf44fc8aeaf6bea43c339831614efe656d4a4fd9af83f8f02fdfc7e7230dc6"


def test_spaces_around_a_cell_are_no_part_of_it(tmp_path: Path) -> None:
    (item,) = figqa.read(
        write(tmp_path, HEADER + " Her word was titanium. , It holds., It breaks. , 1 \n")
    ).items
    assert (item.context, item.options, item.gold) == (
        "Her word was titanium.",
        ("It holds.", "It breaks."),
        1,
    )


def test_the_label_minus_one_means_hidden(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + "a,x,y,-1\nb,x,y,-1\n"))
    assert [item.gold for item in split.items] == [None, None]
    assert groups(split) == [["mine-1", "mine-2"]]


def test_an_id_column_names_the_items(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, "id,startphrase,ending1,ending2,labels\nn7,a,x,y,0\nn8,b,x,y,1\n"))
    assert [(item.id, item.group) for item in split.items] == [("n7", "n7"), ("n8", "n7")]


@pytest.mark.parametrize(
    ("rows", "pairs"),
    [
        ("a,x,y,0\nb,x,y,1\nc,v,w,0\nd,v,w,1\n", [["mine-1", "mine-2"], ["mine-3", "mine-4"]]),
        ("a,x,y,1\nb,x,y,0\n", [["mine-1", "mine-2"]]),  # the order of the labels does not matter
        (
            "a,x,y,0\nb,x,y,1\nc,x,y,0\nd,x,y,1\n",
            [["mine-1", "mine-2"], ["mine-3", "mine-4"]],
        ),  # two pairs, same endings
        ("a,x,y,0\nb,v,w,0\nc,x,y,1\n", [["mine-1"], ["mine-2"], ["mine-3"]]),  # not neighbours
        ("a,x,y,0\nb,x,y,0\n", [["mine-1"], ["mine-2"]]),  # the answer does not flip
        ("a,x,y,0\nb,x,y, 0\n", [["mine-1"], ["mine-2"]]),  # … nor does it by a space
        (
            "a,x,y,0\nb,y,x,1\n",
            [["mine-1"], ["mine-2"]],
        ),  # endings in the other order: x is the answer to both
        ("a,x,y,0\nb,y,x,0\n", [["mine-1", "mine-2"]]),  # … and here the answer flips
        ("a,x,y,-1\nb,y,x,-1\n", [["mine-1", "mine-2"]]),
        ("a,x,y,0\nb,x ,  y,1.0\n", [["mine-1", "mine-2"]]),
        ("a,x z,y,0\nb,x  z,y,1\n", [["mine-1", "mine-2"]]),  # two spaces
        ("a,x\u00a0z,y,0\nb,x z,y,1\n", [["mine-1", "mine-2"]]),  # a no-break space
        (
            "a,\u00e9,y,0\nb,e\u0301,y,1\n",
            [["mine-1", "mine-2"]],
        ),  # é in one character (NFC) and in two (NFD)
        ("a,e\u0301,y,0\nb,y,\u00e9,0\n", [["mine-1", "mine-2"]]),  # all of it
        ("a,x,y,0\nb,v,w,0\nc,v,w,1\n", [["mine-1"], ["mine-2", "mine-3"]]),  # an odd row shifts no pair
    ],
)
def test_neighbours_with_the_same_endings_and_flipped_labels_are_a_pair(
    tmp_path: Path, rows: str, pairs: list[list[str]]
) -> None:
    assert groups(figqa.read(write(tmp_path, HEADER + rows))) == pairs


@pytest.mark.parametrize(
    ("second", "paired"),
    [
        ("b,x,z,1,q1", True),  # one misspelt ending, same qid
        ("b,x,z,1,q2", False),  # one misspelt ending, another qid
        ("b,v,w,1,q1", False),  # a stranger under the same qid
    ],
)
def test_a_qid_decides_only_where_one_ending_is_misspelt(tmp_path: Path, second: str, paired: bool) -> None:
    split = figqa.read(write(tmp_path, f"startphrase,ending1,ending2,labels,qid\na,x,y,0,q1\n{second}\n"))
    assert (len(groups(split)) == 1) is paired


def test_empty_qids_join_nothing(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, "startphrase,ending1,ending2,labels,qid\na,x,y,0,\nb,x,z,1,\n"))
    assert len(groups(split)) == 2


LEFT_OUT = [
    pytest.param(
        ",x,y,0", "empty startphrase, row left out", "fill the cell or delete the row", id="empty phrase"
    ),
    pytest.param(
        "a, ,y,0", "empty ending1, row left out", "fill the cell or delete the row", id="blank ending"
    ),
    pytest.param(
        "a,x,,",
        "empty ending2, labels, row left out",
        "fill the cell or delete the row",
        id="two empty cells",
    ),
    pytest.param(
        "a,x,y,2", "label '2', row left out", "use 0 (ending1), 1 (ending2) or -1 (hidden)", id="label 2"
    ),
    pytest.param(
        "a,x,y,0.5",
        "label '0.5', row left out",
        "use 0 (ending1), 1 (ending2) or -1 (hidden)",
        id="label 0.5",
    ),
    pytest.param(
        "a,x,y,y",
        "label 'y', the text of ending2, row left out",
        "use 0 (ending1), 1 (ending2)",
        id="label in words",
    ),
    pytest.param(
        "a,x,y,true",
        "label 'true', row left out",
        "use 0 (ending1), 1 (ending2) or -1 (hidden)",
        id="label true",
    ),
    pytest.param(
        "a,b,x,y,0",
        "5 cells under 4 columns, row left out",
        "quote cells that contain commas",
        id="too many cells",
    ),
    pytest.param(
        "a,x,0",
        "3 cells under 4 columns, row left out",
        "quote cells that contain commas",
        id="too few cells",
    ),
]
KEPT = [
    pytest.param(
        "a,x,y,0",
        "has no partner with the same endings, kept",
        "put the rows of a pair next to each other",
        id="unpaired",
    ),
]


@pytest.mark.parametrize(("row", "what", "remedy"), LEFT_OUT)
def test_a_row_that_cannot_be_used_is_left_out_with_file_row_and_remedy(
    tmp_path: Path, row: str, what: str, remedy: str
) -> None:
    split = figqa.read(write(tmp_path, f"{HEADER}{PAIR}{row}\n{OTHER}"))
    assert [item.id for item in split.items] == ["mine-1", "mine-2", "mine-4", "mine-5"]
    (note,) = split.notes
    assert note.startswith(f"mine.csv row 3: {what}; {remedy}")


@pytest.mark.parametrize(("row", "what", "remedy"), KEPT)
def test_a_row_that_can_be_used_is_kept_with_file_row_and_remedy(
    tmp_path: Path, row: str, what: str, remedy: str
) -> None:
    split = figqa.read(write(tmp_path, f"{HEADER}{PAIR}{row}\n{OTHER}"))
    assert [item.id for item in split.items] == ["mine-1", "mine-2", "mine-3", "mine-4", "mine-5"]
    (note,) = split.notes
    assert note.startswith(f"mine.csv row 3: {what}")
    assert remedy in note


def test_a_row_whose_text_was_damaged_is_kept_with_a_note(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + PAIR.replace("glass", "gl\ufffdss")))
    assert groups(split) == [["mine-1", "mine-2"]]
    (note,) = split.notes
    assert note.startswith("mine.csv row 2: holds the character U+FFFD, kept; correct the text")


def test_a_text_that_is_only_a_word_for_a_missing_one_is_kept_with_a_note(tmp_path: Path) -> None:
    (note,) = figqa.read(write(tmp_path, HEADER + PAIR + "NaN,It is clear.,It is vague.,-1\n")).notes[:1]
    assert note.startswith("mine.csv row 3: a text is 'NaN', kept; empty the cell or delete the row")


def test_a_second_row_with_an_id_is_left_out(tmp_path: Path) -> None:
    split = figqa.read(
        write(tmp_path, "id,startphrase,ending1,ending2,labels\nn1,a,x,y,0\nn2,b,x,y,1\nn1,c,v,w,0\n")
    )
    assert [item.context for item in split.items] == ["a", "b"]
    assert split.notes == ("mine.csv row 3: id 'n1' occurs twice, row left out; give every row its own id",)


def test_equal_endings_are_noted_for_each_row(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + "a,x,x,0\nb,x,x,1\n"))
    assert groups(split) == [["mine-1", "mine-2"]]
    (note,) = split.notes
    assert note.startswith("mine.csv, each of rows 1, 2: its two endings are equal")
    assert "correct an ending" in note


def test_the_partner_of_a_row_that_is_left_out_is_kept_as_a_single_item(tmp_path: Path) -> None:
    split = figqa.read(write(tmp_path, HEADER + "a,x,y,7\nb,x,y,1\n" + OTHER))
    assert groups(split) == [["mine-2"], ["mine-3", "mine-4"]]
    assert [note.partition(":")[0] for note in split.notes] == ["mine.csv row 1", "mine.csv row 2"]


@pytest.mark.parametrize(("row", "what", "remedy"), [*LEFT_OUT, *KEPT])
def test_strict_refuses_with_file_row_and_remedy(tmp_path: Path, row: str, what: str, remedy: str) -> None:
    path = write(tmp_path, f"{HEADER}{PAIR}{row}\n{OTHER}")
    with pytest.raises(FiglangError) as error:
        figqa.read(path, strict=True)
    for part in ("mine.csv row 3", what, remedy, "data.strict=true", str(path)):
        assert part in str(error.value)


def test_strict_takes_a_clean_file_as_the_default_does(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + PAIR + OTHER)
    assert figqa.read(path, strict=True) == figqa.read(path)


@pytest.mark.parametrize(
    ("content", "noted"),
    [
        pytest.param((HEADER + PAIR).replace("\n", "\r\n").encode(), [], id="CRLF"),
        pytest.param(
            (HEADER + PAIR).encode("utf-8-sig"), ["mine.csv: starts with a byte-order mark"], id="BOM"
        ),
    ],
)
def test_what_excel_adds_changes_no_item(tmp_path: Path, content: bytes, noted: list[str]) -> None:
    split = figqa.read(write(tmp_path, content))
    assert split.items == figqa.read(write(tmp_path, HEADER + PAIR)).items
    assert [note.partition(",")[0] for note in split.notes] == noted


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("content", "parts"),
    [
        pytest.param(
            "startphrase,ending1,labels\na,x,0\n",
            ["no column 'ending2'", "needed are startphrase"],
            id="missing column",
        ),
        pytest.param(
            HEADER.encode() + b"caf\xe9,x,y,0\n",
            ["line 2 is not UTF-8", "save the file as UTF-8"],
            id="encoding",
        ),
        pytest.param("", ["no column 'startphrase'", "found: nothing"], id="empty"),
        pytest.param(HEADER, ["no usable row", "add rows"], id="header only"),
        pytest.param(HEADER + "\n\n", ["no usable row", "add rows"], id="header and blank lines"),
        pytest.param(HEADER + 'a,x,"y,0\n' + PAIR, ["not valid CSV", "check its quotes"], id="open quote"),
    ],
)
def test_a_file_without_usable_rows_is_refused(
    tmp_path: Path, content: str | bytes, parts: list[str], strict: bool
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(FiglangError) as error:
        figqa.read(path, strict)
    for part in (str(path), *parts):
        assert part in str(error.value)


def test_a_file_whose_rows_are_all_left_out_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"no usable row; mine\.csv row 1: label '9'"):
        figqa.read(write(tmp_path, HEADER + "a,x,y,9\nb,x,y,8\n"))


def test_line_ends_are_not_why_no_row_is_usable(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"no usable row; mine\.csv row 1: label '9'"):
        figqa.read(write(tmp_path, (HEADER + "a,x,y,9\n").replace("\n", "\r\n")))


def test_no_row_is_skipped_silently(tmp_path: Path) -> None:
    """Whatever is broken, every data row is an item or has a note that it was left out."""
    draw = np.random.default_rng(0)
    good = [
        line
        for number in range(10)
        for line in (f"a{number},x{number},y{number},0", f"b{number},x{number},y{number},1")
    ]
    breaks = [
        lambda row: row + ",more",
        lambda row: row[:-1] + "3",
        lambda row: row[row.index(",") :],
        lambda row: row[:2],
    ]
    for _ in range(50):
        rows = [breaks[draw.integers(4)](row) if draw.random() < 0.3 else row for row in good]
        split = figqa.read(write(tmp_path, HEADER + "\n".join(rows) + "\n"))
        accounted = {item.id.removeprefix("mine-") for item in split.items}
        left_out = [
            row
            for note in split.notes
            if "row left out" in note
            for row in re.findall(r"\d+", note.partition(":")[0])
        ]
        assert accounted | set(left_out) == {str(number) for number in range(1, 21)}
        assert len(split.items) + len(left_out) == 20


# Large files


def test_many_notes_of_one_kind_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"a{number},x{number},y{number},0\n" for number in range(1000))
    split = figqa.read(write(tmp_path, HEADER + rows))
    assert len(split.items) == 1000
    assert len(split.notes) == 2
    assert split.notes[0].startswith(f"mine.csv, each of rows {', '.join(map(str, range(1, 26)))}: has no")
    assert split.notes[-1] == (
        "mine.csv: 975 more such rows, from row 26 to row 1000; put the rows of a pair next to each other"
    )


def test_memory_grows_by_the_items_and_not_by_the_file(tmp_path: Path) -> None:
    """Neither the text of the file nor its table of cells is held as a whole."""
    filler = "z" * 2000
    path = write(
        tmp_path,
        "startphrase,ending1,ending2,labels,remark\n" + f"a,x,y,0,{filler}\nb,x,y,1,{filler}\n" * 2000,
    )
    tracemalloc.start()
    split = figqa.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(split.items) == 4000
    assert peak < path.stat().st_size / 2
