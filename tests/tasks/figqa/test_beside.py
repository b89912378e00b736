"""Laws of files beside one in Fig-QA's form: labels that a person has, annotations in a folder in upstream
layout."""

from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.tasks.figqa import reading as figqa
from figlang.types import Split
from tests.tasks.figqa.test_reading import HEADER, write

# Labels that a person has


def hidden(folder: Path) -> Split:
    return figqa.read(write(folder, HEADER + "a,x,y,-1\nb,x,y,-1\n", "test.csv"))


@pytest.mark.parametrize("content", ["labels\n1\n0\n", "startphrase,labels\na,1\nb,0\n"])
def test_a_label_file_reveals_the_hidden_labels_in_the_file_order(tmp_path: Path, content: str) -> None:
    path = write(tmp_path, content)
    labelled = figqa.with_labels(hidden(tmp_path), path)
    assert [item.gold for item in labelled.items] == [1, 0]
    assert [(item.id, item.group) for item in labelled.items] == [
        (item.id, item.group) for item in hidden(tmp_path).items
    ]
    assert labelled.notes == (f"labels from {path}",)


@pytest.mark.parametrize(
    ("content", "noted"),
    [
        pytest.param(b"labels\r\n1\r\n0\r\n", False, id="CRLF"),
        pytest.param(b"\xef\xbb\xbflabels\n1\n0\n", True, id="BOM"),
    ],
)
def test_a_label_file_from_excel_is_read(tmp_path: Path, content: bytes, noted: bool) -> None:
    labelled = figqa.with_labels(hidden(tmp_path), write(tmp_path, content))
    assert [item.gold for item in labelled.items] == [1, 0]
    assert any("byte-order mark" in note for note in labelled.notes) == noted


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        pytest.param("labels\n1\n", ["1 label for 2 items", "one row per item"], id="too few"),
        pytest.param("labels\n1\n0\n1\n", ["3 labels for 2 items", "one row per item"], id="too many"),
        pytest.param(
            "labels\n1\n-1\n", ["row 2 has label '-1'", "use 0 (ending1) or 1 (ending2)"], id="still hidden"
        ),
        pytest.param(
            "startphrase,labels\nb,1\na,0\n",
            ["row 1 is for another metaphor", "keep the file's order"],
            id="order",
        ),
        pytest.param("gold\n1\n0\n", ["no column 'labels'"], id="no column"),
    ],
)
def test_a_label_file_that_does_not_fit_is_refused(tmp_path: Path, content: str, parts: list[str]) -> None:
    path = write(tmp_path, content)
    with pytest.raises(FiglangError) as error:
        figqa.with_labels(hidden(tmp_path), path)
    for part in (str(path), *parts):
        assert part in str(error.value)


# Local folders in upstream layout


def layout(folder: Path, annotation: str) -> str:
    (folder / "figqa" / "filtered").mkdir(parents=True)
    (folder / "figqa" / "commonsense_annotation").mkdir()
    write(folder / "figqa" / "filtered", HEADER + "a,x,y,0\nb,x,y,1\n", "dev.csv")
    write(folder / "figqa" / "commonsense_annotation", annotation, "dev.csv")
    return str(folder)


def test_an_item_is_in_every_category_that_is_marked(tmp_path: Path) -> None:
    root = layout(tmp_path, "startphrase,obj,vis,soc,cul\na,1,,,1\nb,,1,1,\n")
    split = figqa.load("validation", "medium", root, "")
    assert [item.attributes["commonsense"] for item in split.items] == [
        ("objects", "cultural"),
        ("visual", "social"),
    ]


@pytest.mark.parametrize("rows", ["b,1,,,\na,1,,,\n", "a,1,,,\n", "a,1,,,\nb,1,,,\nc,1,,,\n"])
def test_an_annotation_of_other_rows_is_refused(tmp_path: Path, rows: str) -> None:
    root = layout(tmp_path, f"startphrase,obj,vis,soc,cul\n{rows}")
    with pytest.raises(FiglangError, match="both files must come from the same release"):
        figqa.load("validation", "medium", root, "")


def test_an_annotation_with_crlf_line_ends_is_read(tmp_path: Path) -> None:
    # As a checkout with git's autocrlf has it.
    root = layout(tmp_path, "startphrase,obj,vis,soc,cul\r\na,1,,,1\r\nb,,1,1,\r\n")
    split = figqa.load("validation", "medium", root, "")
    assert split.items[0].attributes["commonsense"] == ("objects", "cultural")
