"""The map of published results knows every table and figure of the three papers."""

import re

import pytest

from tests.docs.test_commands import MAP
from tests.published import results

# What each paper numbers: tables and figures.
NUMBERED = {"Fig-QA": (17, 3), "MiQA": (3, 0), "MUNCH": (12, 8)}
REASONS = (
    "not reproducible, because",
    "not a result",
    "not results",
    "in every evaluation",
    "with Table",
    "the same",
)


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_table_and_figure_has_its_command_or_the_reason_why_not(paper: str) -> None:
    rows = re.split(r"^\| \*\*(.+?)\*\*.*$", MAP, flags=re.MULTILINE)
    mine = [row.split(" | ", 1) for row in rows[rows.index(paper) + 1].strip().splitlines()]
    for kind, last in zip(("Table", "Figure"), NUMBERED[paper], strict=True):
        named = [run for what, _ in mine for run in re.findall(rf"{kind}s? ([\d, ]+)", what)]
        said = {int(number) for run in named for number in re.findall(r"\d+", run)}
        assert said >= set(range(1, last + 1)), f"{kind}s of {paper} that are missing"
    for what, command in mine:
        assert re.search(r"`(python|figlang) ", command) or command.startswith(REASONS), what


def test_the_map_knows_every_published_table() -> None:
    for row in results():
        if row.paper in ("figqa2022", "miqa2022", "munch2024") and row.table.startswith(
            ("Table", "Figure", "Footnote")
        ):
            assert re.search(rf"{row.table.split()[0]}s?[ \d,]* {row.table.split()[1]}\b", MAP), row.table
