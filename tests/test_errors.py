"""Messages of libraries within figlang's own."""

from pathlib import Path

import pytest

from figlang.errors import one_line


def test_the_number_of_an_error_of_the_system_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        (tmp_path / "gone").read_text()
    assert one_line(error.value) == f"No such file or directory: '{tmp_path / 'gone'}'"


def test_a_message_is_one_line_and_without_one_the_type_is_named() -> None:
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(ValueError()) == "ValueError"
