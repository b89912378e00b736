"""The error for a file that is not there says where to look next."""

from pathlib import Path

from figlang.files.missing import no_such_file


def test_a_file_with_a_similar_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "metáforas.csv").write_text("a\n")
    (tmp_path / "metáforas").mkdir()
    assert str(no_such_file(tmp_path / "metaforas.csv")).endswith(
        f"metaforas.csv; did you mean {tmp_path / 'metáforas.csv'}?"
    )
    assert str(no_such_file(tmp_path / "x.csv")).endswith(f"x.csv; it is not in {tmp_path}")


def test_a_missing_folder_and_a_folder_in_place_of_a_file_are_named(tmp_path: Path) -> None:
    assert str(no_such_file(tmp_path / "a" / "b.csv")).endswith(f"there is no folder {tmp_path / 'a'}")
    assert str(no_such_file(tmp_path)) == f"{tmp_path} is a folder; name a file in it"
