"""People in a report: rows beside the systems, the human ceiling, and refused files."""

import csv
import random
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.reports import overview, people, verdict
from figlang.reports.parts import Chapter
from figlang.runs import systems
from figlang.statistics import common
from figlang.statistics.common import Answered, majorities, shares
from figlang.statistics.metrics import accuracy
from figlang.tables import Table
from figlang.types import Split
from tests.report_runs import report, run


def chapter(folder: Path, split: Split, wrong: dict[str, int], items: int | None = None) -> Chapter:
    """Two systems, and people of whom each has every n-th item wrong and is not sure of every fifth."""
    runs = [run(folder / f"every{n}", split, n, prompt=f"p{n}") for n in (3, 10)]
    pools = tuple(systems.pooled(systems.read(runs)))
    chosen: dict[str, tuple[Answered, ...]] = {}
    for place, item in enumerate(split.items[:items]):
        assert item.gold is not None
        chosen[item.id] = tuple(
            Answered(item.gold if place % n else 1 - item.gold, name, place % 5 > 0)
            for name, n in wrong.items()
        )
    return Chapter("t", pools, {}, people=chosen)


def table(section: people.Section | None, name: str) -> Table:
    assert section is not None
    (found,) = (part for part in section.parts if isinstance(part, Table) and part.name == name)
    return found


def test_a_choice_that_no_option_has_is_refused(tmp_path: Path, sample: Split) -> None:
    """It counted as an answer that is wrong."""
    file = tmp_path / "people.csv"
    file.write_text(f"id,choice\n{sample.items[0].id},2\n{sample.items[1].id},3\n")
    with pytest.raises(FiglangError, match=f"the choice 3 for {sample.items[1].id} is the number of no"):
        report(tmp_path / "page", run(tmp_path / "run", sample, 4), people=str(file))


def test_every_rater_the_majority_and_the_systems_stand_together(tmp_path: Path, sample: Split) -> None:
    made = chapter(tmp_path, sample, {"ann": 4, "ben": 6, "cleo": 9})
    rows = {row[0]: row for row in table(people.section(made), "people_accuracy").rows}
    n = len(sample.items)
    assert list(rows) == [
        "ann",
        "ben",
        "cleo",
        "all answers",
        "confident answers",
        "majority",
        "tiny, p3",
        "tiny, p10",
    ]
    values = {name: row[2].value for name, row in rows.items()}  # type: ignore[union-attr]
    wrong = {name: len(range(0, n, every)) for name, every in {"ann": 4, "ben": 6, "cleo": 9}.items()}
    assert all(values[name] == pytest.approx(1 - count / n) for name, count in wrong.items())
    assert values["all answers"] == pytest.approx(1 - sum(wrong.values()) / (3 * n))
    # Two of three are wrong where two of the numbers divide the place.
    twice = sum(sum(place % every == 0 for every in (4, 6, 9)) > 1 for place in range(n))
    assert values["majority"] == pytest.approx(1 - twice / n)
    assert rows["confident answers"][1] == 3 * (n - len(range(0, n, 5)))
    assert values["tiny, p10"] == pytest.approx(1 - len(range(0, n, 10)) / n)


def test_raters_of_one_mind_are_no_more_sure_than_one(tmp_path: Path, sample: Split) -> None:
    made = chapter(tmp_path, sample, {"ann": 4, "ben": 4, "cleo": 4})
    rows = {row[0]: row[2] for row in table(people.section(made), "people_accuracy").rows}
    one, every = rows["ann"], rows["all answers"]
    assert (one.value, one.low, one.high) == pytest.approx((every.value, every.low, every.high))  # type: ignore[union-attr]


def test_the_ceiling_says_how_systems_do_where_people_are_right(tmp_path: Path, sample: Split) -> None:
    made = chapter(tmp_path, sample, {"ann": 2, "ben": 4, "cleo": 8}, items=80)
    rows = {row[0]: row for row in table(people.section(made), "human_ceiling").rows}
    assert {name: row[1] for name, row in rows.items()} == {
        "all": 40,
        "more than half": 20,
        "half or fewer": 10,
        "none": 10,
    }
    for name, places in (("none", range(0, 80, 8)), ("half or fewer", range(4, 80, 8))):
        right = sum(place % 3 > 0 for place in places)
        assert rows[name][2].value == pytest.approx(right / 10)  # type: ignore[union-attr]


def test_people_are_in_the_summary_the_figure_and_the_answer(tmp_path: Path, sample: Split) -> None:
    made = chapter(tmp_path, sample, {"ann": 20, "ben": 30, "cleo": 50}, items=100)
    lines = overview.lines(made)
    (line,) = (line for line in lines if line.name == "people, majority of 3")
    assert (line.kind, line.elsewhere) == ("people", True)
    said = verdict.sentences(made, lines)[-1]
    right = sum(place % 10 > 0 for place in range(100))
    far = f"{98 - right}.0 points more than tiny, p10 on these items."
    assert said == f"People (majority of 3) have 98.0 % of 100 items right: {far}"
    summary = next(
        part for part in overview.summary(made).parts if isinstance(part, Table) and part.name == "summary"
    )
    assert [row[:2] for row in summary.rows[2:3]] == [("people, majority of 3", 100)]
    whole = chapter(tmp_path / "w", sample, {"": 20})
    assert [one.elsewhere for one in overview.lines(whole) if one.name == "people"] == [False]


def test_without_people_there_is_no_section(tmp_path: Path, sample: Split) -> None:
    assert people.section(chapter(tmp_path, sample, {}, items=0)) is None


@pytest.mark.parametrize("seed", range(5))
def test_shares_give_the_choice_of_most(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(200):
        answers = [Answered(draw.randrange(3), str(n)) for n in range(draw.randint(1, 6))]
        found = shares(answers, 3)
        assert sum(found) == pytest.approx(1)
        best = [place for place, share in enumerate(found) if share == max(found)]
        assert majorities({"x": answers}) == {"x": best[0] if len(best) == 1 else None}


def test_a_second_answer_of_a_rater_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,choice,rater,confident\ni0,1,ann,no\ni0,2,ben,\n")
    assert common.people(path) == {"i0": (Answered(0, "ann", False), Answered(1, "ben"))}
    path.write_text("id,choice,rater\ni0,1,ann\ni0,2,ann\n")
    with pytest.raises(FiglangError, match="row 2 is a second answer of ann to i0; keep one"):
        common.people(path)


def test_a_report_with_people_has_their_tables(tmp_path: Path, sample: Split) -> None:
    made = run(tmp_path / "one", sample, 3)
    lines = [f"{item.id},{(item.gold or 0) + 1},ann" for item in sample.items[:50]]
    (tmp_path / "people.csv").write_text("\n".join(["id,choice,rater", *lines]) + "\n")
    page = report(tmp_path / "out", made, people=str(tmp_path / "people.csv"))
    assert "Human ceiling" in page
    with (tmp_path / "out" / "tables" / "people_accuracy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["who"] for row in rows] == ["ann", "all answers", "majority", "tiny"]
    assert float(rows[0]["accuracy"]) == 1
    found = accuracy(
        [row for row in systems.read([made])[0].predictions if row.id in {i.id for i in sample.items[:50]}]
    )
    assert found is not None
    assert float(rows[-1]["accuracy"]) == pytest.approx(found.value, abs=1e-4)
