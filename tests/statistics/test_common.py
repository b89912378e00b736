"""Errors in common (figlang/statistics/common.py and its section): by hand, laws, people's answers."""

import csv
from pathlib import Path

import numpy as np
import pytest

from figlang.config import PathsConfig
from figlang.errors import FiglangError
from figlang.reports import errors
from figlang.reports.parts import Chapter, Prose
from figlang.runs.systems import Pool, System
from figlang.statistics.common import in_common, level, majorities, people, wrong, wrong_of_people
from figlang.tables import Table
from figlang.tasks import registry as data
from figlang.types import Prediction
from tests.report_runs import SAMPLE, report, run


def system(letters: str) -> list[Prediction]:
    """A prediction a letter, r(ight), w(rong) or t(ie), two to a pair."""
    scores = {"r": (1.0, 0.0), "w": (0.0, 1.0), "t": (0.5, 0.5)}
    return [
        Prediction(f"i{place}", f"g{place // 2}", 0, scores[letter]) for place, letter in enumerate(letters)
    ]


GROUPS = {f"i{place}": f"g{place // 2}" for place in range(12)}


def test_shared_errors_by_hand() -> None:
    found = in_common(wrong(system("wwwrrrrrrt")), wrong(system("wrwrrrrrrw")), GROUPS)
    assert found is not None
    assert (found.n, found.first, found.second, found.shared) == (10, 4, 3, ("i0", "i2", "i9"))
    assert found.expected == pytest.approx(4 * 3 / 10)
    # phi of the table 3, 1, 0, 6.
    assert found.correlation is not None
    assert found.correlation.r == pytest.approx((3 * 6 - 1 * 0) / np.sqrt(4 * 6 * 3 * 7))


def test_who_is_first_changes_nothing_and_only_what_both_answered_counts() -> None:
    one, other = wrong(system("wwrrwr")), wrong(system("wrwrww"))
    there, back = in_common(one, other, GROUPS), in_common(other, one, GROUPS)
    assert there is not None
    assert back is not None
    assert (there.shared, there.expected, there.first) == (back.shared, back.expected, back.second)
    part = in_common(one, {"i0": True, "i1": False}, GROUPS)
    assert part is not None
    assert (part.n, part.first, part.shared) == (2, 2, ("i0",))
    assert in_common(one, {"other": True}, GROUPS) is None


def test_people_have_the_choice_of_most_of_them(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,rater,choice\ni0,a,1\ni0,b,2\ni0,c,2\ni1,a,1\ni1,b,2\ni2,a,1\ni3,a,\n")
    assert majorities(people(path)) == {"i0": 1, "i1": None, "i2": 0}
    assert wrong_of_people(majorities(people(path)), system("rrrr")) == {"i0": True, "i1": True, "i2": False}


@pytest.mark.parametrize(
    ("rows", "message"),
    [("i0,both\n", "row 1 has the choice 'both'"), ("i0,0\n", "row 1 has"), ("i0,\n", "has no answer")],
)
def test_what_is_no_choice_is_named(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"id,choice\n{rows}")
    with pytest.raises(FiglangError, match=message):
        people(path)


def test_a_report_says_what_systems_and_people_miss(tmp_path: Path) -> None:
    split = data.load("validation", SAMPLE, PathsConfig())
    runs = [run(tmp_path / str(wrong), split, wrong, prompt=f"p{wrong}") for wrong in (2, 3)]
    page = report(tmp_path / "out", *runs)
    assert "<h3>Errors in common</h3>" in page
    assert "was not published for single items" in page
    with (tmp_path / "out" / "tables" / "errors_in_common.csv").open(newline="") as file:
        table = list(csv.reader(file))
    n = len(split.items)
    assert table[1][2:6] == [str(n), str(n // 2), str(-(-n // 3)), str(-(-n // 6))]
    assert table[2][0] == "people, test, published"
    # Every sixth item is wrong in both; people miss the first of these alone.
    chosen = [item.gold or 0 for item in split.items]
    chosen[0] = 1 - chosen[0]
    choices = "".join(f"{item.id},{choice + 1}\n" for item, choice in zip(split.items, chosen, strict=True))
    (tmp_path / "people.csv").write_text(f"id,choice\n{choices}")
    report(tmp_path / "out", *runs, people=str(tmp_path / "people.csv"))
    missed = (tmp_path / "out" / "tables" / "missed_by_all.csv").read_text().splitlines()
    assert len(missed) == 2
    assert missed[1].startswith(split.items[0].id)


def test_nothing_is_said_of_one_system_or_hidden_labels_and_strangers_are_refused() -> None:
    def chapter(*several: list[Prediction]) -> Chapter:
        pools = (
            Pool(str(place), (System(str(place), Path(), {}, tuple(rows), ""),))
            for place, rows in enumerate(several)
        )
        return Chapter("t", tuple(pools), {})

    hidden = [Prediction("i0", "g0", None, (1.0, 0.0))]
    assert errors.common(chapter(system("rw")), {}) is None
    assert errors.common(chapter(hidden, hidden), {}) is None
    with pytest.raises(FiglangError, match="has no answer to an item of the runs"):
        errors.common(chapter(system("rw")), {"x": 0})
    section = errors.common(chapter(system("rw"), system("wr")), {})
    assert section is not None
    assert isinstance(section.parts[0], Table)
    assert section.parts[-1] == Prose("No item is missed by every system.")


def test_more_than_half_of_the_raters_are_most() -> None:
    assert [level(right, 4) for right in range(5)] == [
        "none",
        "half or fewer",
        "half or fewer",
        "most",
        "all",
    ]
    assert [level(right, 1) for right in range(2)] == ["none", "all"]
    assert [level(right, 3) for right in range(4)] == ["none", "half or fewer", "most", "all"]
