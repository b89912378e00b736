"""Prompts for writers: repeatable, not repeated, and never lost."""

import csv
from pathlib import Path

import pytest

from figlang.creation import frames, prompts
from figlang.errors import FiglangError

EVERY = len(frames.WAYS) * len(frames.SUBJECTS)


def test_there_are_some_forty_subjects_and_none_twice() -> None:
    assert len({subject for subject, _, _ in frames.SUBJECTS}) == len(frames.SUBJECTS) >= 40


def test_a_seed_repeats_and_another_differs() -> None:
    assert frames.drawn(30, 1) == frames.drawn(30, 1) != frames.drawn(30, 2)


def test_no_frame_comes_again_before_all_have_come() -> None:
    found = frames.drawn(2 * EVERY + 5, 0)
    assert len(found) == 2 * EVERY + 5
    assert len(set(found[:EVERY])) == len(set(found[EVERY : 2 * EVERY])) == EVERY


def test_a_table_has_ids_of_its_seed_and_blank_cells(tmp_path: Path) -> None:
    prompts.write(12, 7, tmp_path / "p")
    with (tmp_path / "p" / prompts.SHEET).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"s7-{number:02}" for number in range(1, 13)]
    assert all(row["frame"] and not row["metaphor1"] and not row["meaning2"] for row in rows)


def test_what_writers_wrote_is_not_replaced(tmp_path: Path) -> None:
    prompts.write(3, 0, tmp_path)
    prompts.write(4, 0, tmp_path)  # nobody has written
    sheet = tmp_path / prompts.SHEET
    sheet.write_text(sheet.read_text(encoding="utf-8") + "mine,,,,,,\n", encoding="utf-8")
    with pytest.raises(FiglangError, match="was changed since it was made"):
        prompts.write(3, 0, tmp_path)
    assert "mine" in sheet.read_text(encoding="utf-8")
