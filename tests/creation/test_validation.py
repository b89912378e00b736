"""People's answers: read with care, and compared with the writers'."""

from pathlib import Path

import pytest

from figlang.creation import validation
from figlang.errors import FiglangError
from figlang.types import Item

ITEMS = [Item(f"{g}{n}", g, f"{g}{n}", ("one", "two"), n) for g in "ab" for n in (0, 1)]


def sheet(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(("id,choice,rater", *rows)) + "\n", encoding="utf-8")
    return path


def test_files_without_names_are_of_one_person_each(tmp_path: Path) -> None:
    ann = sheet(tmp_path / "ann.csv", "a0,1,", "a1,2,", "b0,1,", "b1,1,")
    ben = sheet(tmp_path / "ben.csv", "a0,1,", "a1,2,", "b0,1,", "b1,1,")
    found = validation.read([ann, ben], ITEMS)
    assert [one.rater for one in found["a0"]] == ["ann", "ben"]
    agreed = validation.agreement(ITEMS, found)
    assert (agreed["items"], agreed["raters"], agreed["answers"]) == (4, 2, 8)
    assert agreed["answers_right"].value == agreed["majority_right"].value == 0.75
    assert agreed["between"]["alpha_nominal"] == 1.0  # they are wrong together


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("z9,1,", "not an item of file="),
        ("a0,3,", "has 2 options"),
        ("a0,x,", "give the number of an option"),
    ],
)
def test_a_wrong_row_is_refused(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        validation.read([sheet(tmp_path / "ann.csv", row)], ITEMS)


def test_a_person_answers_an_item_once(tmp_path: Path) -> None:
    both = [sheet(tmp_path / name, "a0,1,ann") for name in ("one.csv", "two.csv")]
    with pytest.raises(FiglangError, match="second answer of ann"):
        validation.read(both, ITEMS)
