"""What tables say of their intervals: over what they are, which test, corrected or not, of which runs."""

from dataclasses import replace
from pathlib import Path

import figlang
from figlang.reports import intervals
from figlang.types import Prediction, Split
from tests.report_runs import report, run

PAIRS = "pairs (clusters of items that depend on each other)"
SINGLE = "items, each of which is a cluster of its own"


def rows(clusters: int, paired: bool = True) -> list[Prediction]:
    return [
        Prediction(str(place), str(place % clusters), 0, (float(place % 3 > 0), 0.5), {}, paired)
        for place in range(12)
    ]


def test_the_unit_is_that_of_the_items() -> None:
    assert intervals.unit(rows(6)) == PAIRS
    assert intervals.unit(rows(12)) == SINGLE
    assert intervals.unit(rows(6, paired=False)) == "clusters of items that depend on each other"
    hidden = [replace(row, gold=None) if place < 6 else row for place, row in enumerate(rows(6))]
    assert intervals.unit(hidden) == SINGLE, "an item whose partner is hidden is alone"


def test_items_without_partners_are_not_called_pairs(tmp_path: Path) -> None:
    """Every report said that its intervals are over pairs."""
    own = [
        {"id": str(place), "gold": 0, "scores": [place % 3, 0.5], "kind": ["a", "b"][place % 2]}
        for place in range(40)
    ]
    other = [{**row, "scores": [place % 4, 0.5]} for place, row in enumerate(own)]
    systems = [figlang.Predictions.from_list(each, name) for each, name in ((own, "one"), (other, "two"))]
    figlang.report(systems, tmp_path / "out")
    tables = {path.stem: path.read_text() for path in (tmp_path / "out" / "tables").glob("*.md")}
    for name in ("summary", "by_kind", "by_kind_heat"):
        assert f"95 % intervals are over {SINGLE}." in tables[name], name
    assert f"It takes {SINGLE} as independent" in tables["comparison"]
    assert [name for name, text in tables.items() if PAIRS in text] == []
    assert "in several rows" not in tables["by_kind"], "an item has one kind"


def test_counts_that_overlap_are_said_to(tmp_path: Path) -> None:
    own = [
        {"id": str(place), "gold": 0, "scores": [place % 3, 0.5], "kind": ["a", "b"] if place % 2 else ["a"]}
        for place in range(40)
    ]
    figlang.report([figlang.Predictions.from_list(own, "one")], tmp_path / "out")
    said = (tmp_path / "out" / "tables" / "by_kind.md").read_text()
    assert "| a | 40 |" in said
    assert "An item with several values is in several rows." in said


def test_the_comparison_names_its_test_and_what_is_corrected(tmp_path: Path, sample: Split) -> None:
    report(tmp_path / "out", *(run(tmp_path / str(each), sample, each, prompt=f"{each}") for each in (3, 4)))
    said = (tmp_path / "out" / "tables" / "comparison.tex").read_text()
    for words in (
        "two-sided p",
        "score test",
        "McNemar",
        "Student",
        f"It takes {PAIRS}",
        "intervals are not",
    ):
        assert words in said, words


def test_tables_of_one_run_say_which_of_several_seeds_it_is(tmp_path: Path, sample: Split) -> None:
    runs = [run(tmp_path / name, sample, wrong, seed) for name, wrong, seed in (("a", 4, 3), ("b", 3, 5))]
    runs.append(run(tmp_path / "c", sample, 5, prompt="x", trained="nothing@none"))
    report(tmp_path / "out", *runs)
    said = "This table has one run of a system with several seeds: tiny, seed 3."
    tables = {path.stem: path.read_text() for path in (tmp_path / "out" / "tables").glob("*.md")}
    assert [name for name in sorted(tables) if said in tables[name]] == [
        "calibration",
        "errors_in_common",
        "factors",
    ]
    assert "Its interval takes seeds as drawn too." in tables["summary"]
    assert "Two seeds say little about how much seeds differ" in tables["summary"]
    assert "95 % intervals over clusters of items" in tables["surface"]
    assert all("is the best on these very items" in tables[name] for name in ("summary", "surface"))
    report(tmp_path / "single", *runs[1:])
    assert "This table has one run" not in "".join(
        path.read_text() for path in (tmp_path / "single" / "tables").glob("*.md")
    )


def test_a_system_of_ties_is_not_left_out_of_the_calibration_silently(tmp_path: Path) -> None:
    own = [{"id": str(place), "gold": 0, "scores": [place % 3, 0.5]} for place in range(20)]
    tied = [{**row, "scores": [0.5, 0.5]} for row in own]
    systems = [figlang.Predictions.from_list(each, name) for each, name in ((own, "one"), (tied, "two"))]
    figlang.report(systems, tmp_path / "out")
    said = (tmp_path / "out" / "tables" / "calibration.md").read_text()
    assert "Every choice is a tie, so there is no confidence; left out: two." in said


def test_without_labels_nothing_is_said_of_intervals(tmp_path: Path) -> None:
    own = [{"id": str(place), "gold": None, "scores": [place % 3, 0.5]} for place in range(20)]
    figlang.report([figlang.Predictions.from_list(own, "one")], tmp_path / "out")
    said = (tmp_path / "out" / "tables" / "summary.md").read_text()
    assert "Labels are hidden" in (tmp_path / "out" / "report.html").read_text()
    assert "interval" not in said
