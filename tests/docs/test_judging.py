"""Sheets from released codes (docs/making/judging.py)."""

import csv
from pathlib import Path

from docs.making import judging
from figlang.rating import sheets
from figlang.types import Generation

PHRASE = "He is a lion.That is to say,"


def test_released_codes_become_a_sheet(tmp_path: Path) -> None:
    """Equal answers are told apart by their order, as in the file."""
    texts = [", he is brave", "he roars", "he is brave"]
    answers = [
        Generation("i", "g", "interpretation", place, PHRASE, text, text) for place, text in enumerate(texts)
    ]
    sheets.write(tmp_path / "sheet", {"gpt": answers}, "figqa")
    with (tmp_path / "annot.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["startphrase", "completion", "valid", ""])
        writer.writerows([PHRASE, text, code, ""] for text, code in zip(texts, (1, 2, -1), strict=True))
    judging.codes(tmp_path / "sheet", [tmp_path / "annot.csv"])
    _, rated = sheets.read(tmp_path / "sheet", [tmp_path / "person1.csv"])
    assert {one.generation.sample: one.codes for one in rated} == {0: (1,), 1: (2,), 2: (-1,)}
