"""Laws of figlang/files/rows.py: what is wrong in a person's table is named with file, row and remedy."""

from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_csv


def table(folder: Path, content: bytes) -> Path:
    path = folder / "mine.csv"
    path.write_bytes(content)
    return path


def read(
    path: Path, *required: str, strict: bool = False
) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    problems = Problems(path, strict)
    return read_csv(path, required or ("a", "b"), problems), problems.found


def test_rows_are_numbered_from_one_without_the_header(tmp_path: Path) -> None:
    rows, found = read(table(tmp_path, b"a,b\n1,2\n3,4\n"))
    assert rows == [(1, {"a": "1", "b": "2"}), (2, {"a": "3", "b": "4"})]
    assert found == []


def test_columns_may_stand_in_any_order_with_others_between(tmp_path: Path) -> None:
    rows, _ = read(table(tmp_path, b"b,other,a\n2,x,1\n"))
    assert rows == [(1, {"b": "2", "other": "x", "a": "1"})]


def test_spaces_around_a_column_name_are_no_part_of_it(tmp_path: Path) -> None:
    rows, _ = read(table(tmp_path, b"a , b\n1,2\n"))
    assert rows == [(1, {"a": "1", "b": "2"})]


def test_the_last_line_needs_no_line_end(tmp_path: Path) -> None:
    assert len(read(table(tmp_path, b"a,b\n1,2\n3,4"))[0]) == 2


def test_quoted_commas_quotes_and_line_breaks_belong_to_the_cell(tmp_path: Path) -> None:
    rows, found = read(table(tmp_path, b'a,b\n"x, y","say ""no""\nand go"\n3,4\n'))
    assert rows == [(1, {"a": "x, y", "b": 'say "no"\nand go'}), (2, {"a": "3", "b": "4"})]
    assert found == []


def test_quotes_inside_an_unquoted_cell_are_text(tmp_path: Path) -> None:
    rows, _ = read(table(tmp_path, b'a,b\nhe said "no",2\n'))
    assert rows[0][1]["a"] == 'he said "no"'


def test_letters_beyond_ascii_survive(tmp_path: Path) -> None:
    rows, _ = read(table(tmp_path, "a,b\nnaïve – “quoted” 🙂,2\n".encode()))
    assert rows[0][1]["a"] == "naïve – “quoted” 🙂"


def test_a_byte_order_mark_is_read_and_noted(tmp_path: Path) -> None:
    rows, (note,) = read(table(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n"))
    assert rows == [(1, {"a": "1", "b": "2"})]
    assert note.startswith("mine.csv: starts with a byte-order mark")
    assert "save it as UTF-8 without BOM" in note


def test_crlf_line_ends_are_read_without_a_word(tmp_path: Path) -> None:
    """They change nothing, so that a note would only be noise."""
    assert read(table(tmp_path, b'a,b\r\n1,"2\r\n3"\r\n')) == read(table(tmp_path, b'a,b\n1,"2\n3"\n'))


@pytest.mark.parametrize(("row", "cells"), [(b"1", 1), (b"1,2,3", 3)])
def test_a_row_with_another_number_of_cells_is_left_out_with_a_note(
    tmp_path: Path, row: bytes, cells: int
) -> None:
    rows, (note,) = read(table(tmp_path, b"a,b\n1,2\n" + row + b"\n5,6\n"))
    assert rows == [(1, {"a": "1", "b": "2"}), (3, {"a": "5", "b": "6"})]
    assert note == (
        f"mine.csv row 2: {cells} cells under 2 columns, row left out; quote cells that contain "
        "commas or line breaks"
    )


@pytest.mark.parametrize("content", [b"\xef\xbb\xbfa,b\n1,2\n", b"a,b\n1\n1,2\n"])
def test_strict_refuses_what_would_be_noted(tmp_path: Path, content: bytes) -> None:
    path = table(tmp_path, content)
    with pytest.raises(FiglangError, match=r"^mine\.csv.*data\.strict=true refuses the file") as error:
        read(path, strict=True)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("strict", [False, True])
class TestNoReaderCanRepair:
    """Fatal in both modes: one line that names the file."""

    def refusal(self, path: Path, strict: bool) -> str:
        with pytest.raises(FiglangError) as error:
            read(path, strict=strict)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
        return str(error.value)

    def test_a_file_that_is_not_there(self, tmp_path: Path, strict: bool) -> None:
        assert "no such file" in self.refusal(tmp_path / "mine.csv", strict)

    def test_a_missing_column(self, tmp_path: Path, strict: bool) -> None:
        message = self.refusal(table(tmp_path, b"a,c\n1,2\n"), strict)
        assert "no column 'b' (found: a, c); needed are a, b" in message

    def test_an_empty_file(self, tmp_path: Path, strict: bool) -> None:
        assert "no column 'a', 'b' (found: nothing)" in self.refusal(table(tmp_path, b""), strict)

    def test_a_column_that_occurs_twice(self, tmp_path: Path, strict: bool) -> None:
        message = self.refusal(table(tmp_path, b"a,b,b\n1,2,3\n"), strict)
        assert "column 'b' occurs twice" in message
        assert "rename" in message

    @pytest.mark.parametrize("content", [b"a,b\n1,2\n\xe9t\xe9,4\n", "a,b\n1,2\n3,é\n".encode("latin-1")])
    def test_another_encoding(self, tmp_path: Path, strict: bool, content: bytes) -> None:
        message = self.refusal(table(tmp_path, content), strict)
        assert "line 3 is not UTF-8 (byte 0xe9); save the file as UTF-8" in message

    def test_a_quote_that_is_never_closed(self, tmp_path: Path, strict: bool) -> None:
        # Python's reader would silently take the rest of the file into the last cell of row 2.
        message = self.refusal(table(tmp_path, b'a,b\n1,2\n3,"4\n5,6\n7,8\n'), strict)
        assert "not valid CSV" in message
        assert "check its quotes" in message


def test_rows_with_the_same_problem_are_one_note(tmp_path: Path) -> None:
    problems = Problems(tmp_path / "mine.csv", strict=False)
    problems.add(5, "has no partner", "put pairs together")
    problems.add(6, "has two equal endings", "correct an ending")
    problems.add(6, "has no partner", "put pairs together")
    for row in range(7, 40):
        problems.add(row, "has no partner", "put pairs together")
    first, other, more = problems.found
    assert first.startswith("mine.csv, each of rows 5, 6, 7, 8, ")
    assert first.endswith(", 29: has no partner; put pairs together")
    assert other == "mine.csv row 6: has two equal endings; correct an ending"
    assert more == "mine.csv: 10 more such rows, from row 30 to row 39; put pairs together"
    assert str(problems.nothing_usable("")).endswith("mine.csv row 5: has no partner; put pairs together")
