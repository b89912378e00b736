"""The sentences at the top of a report: who is best, by how much, is that sure, how far from people."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from figlang.reports import overview, verdict
from figlang.reports.parts import Chapter
from figlang.reports.ranked import Line
from figlang.runs import systems
from figlang.runs.systems import Pool, System
from figlang.statistics.metrics import accuracy
from figlang.types import Prediction, Split
from tests.report_runs import report, run


def pools(folder: Path, sample: Split, *wrong: int) -> tuple[Pool, ...]:
    runs = [run(folder / str(each), sample, each, prompt=f"p{each}") for each in wrong]
    return tuple(systems.pooled(systems.read(runs)))


def test_one_system_is_set_beside_chance(tmp_path: Path, sample: Split) -> None:
    chapter = Chapter("t", pools(tmp_path, sample, 4), {})
    (first, *_) = verdict.sentences(chapter, overview.lines(chapter))
    right = 100 * (1 - len(range(0, len(sample.items), 4)) / len(sample.items))
    assert first.startswith(f"tiny has {right:.1f} % of the items right (95 % interval")
    assert "Chance is 50.0: it is above chance (p < 0.001)." in first


def test_the_best_of_several_is_set_beside_the_next_and_people(tmp_path: Path, sample: Split) -> None:
    chapter = Chapter("t", pools(tmp_path, sample, 2, 9, 8), {})
    best, second, people = verdict.sentences(chapter, overview.lines(chapter))
    assert best.startswith("Best of 3: tiny, p9 has ")
    assert ", not corrected). Chance is 50.0: it is above chance (p < 0.001 after Holm's correction" in best
    assert "ahead of tiny, p8 (95 % interval -" in second
    assert "; that may be chance (p = " in second
    assert second.endswith("1 of the others cannot be told from it.")
    assert people.startswith("People have 94.4 % right (published, on other items): ")
    assert people.endswith("points more.")


def test_the_number_of_those_that_do_not_differ_is_not_read_from_letters(
    tmp_path: Path, sample: Split
) -> None:
    """With more than 26 groups, letters such as "ah" were taken for the first group."""
    chapter = Chapter("t", pools(tmp_path, sample, 2, 9, 8), {})
    named = [
        replace(line, group=group)
        for line, group in zip(overview.lines(chapter), ("ah–aj", "a", "ab"), strict=False)
    ]
    assert verdict.sentences(chapter, named)[1].endswith(" 1 of the others cannot be told from it.")
    apart = Chapter("t", pools(tmp_path / "apart", sample, 2, 60), {})
    more = Chapter("t", pools(tmp_path / "more", sample, 2, 3, 90), {})
    assert "others" not in verdict.sentences(apart, overview.lines(apart))[1], "there is one other"
    assert verdict.sentences(more, overview.lines(more))[1].endswith(" It differs from all others.")


def test_of_systems_that_are_equal_none_is_ahead(tmp_path: Path, sample: Split) -> None:
    runs = [run(tmp_path / each, sample, 4, prompt=each) for each in ("a", "b")]
    chapter = Chapter("t", tuple(systems.pooled(systems.read(runs))), {})
    _, second, *_ = verdict.sentences(chapter, overview.lines(chapter))
    assert second.startswith("It is level with tiny, b (95 % interval -")
    assert second.endswith("; p = 1.000).")


def test_the_interval_beside_a_corrected_p_says_that_it_is_not_corrected(
    tmp_path: Path, sample: Split
) -> None:
    chapter = Chapter("t", pools(tmp_path, sample, 2, 9, 8), {})
    second = verdict.sentences(chapter, overview.lines(chapter))[1]
    assert ", not corrected); that may be chance (p = " in second
    assert "after Holm's correction for 3 comparisons)" in second
    two = Chapter("t", pools(tmp_path / "two", sample, 2, 60), {})
    alone = verdict.sentences(two, overview.lines(two))[1]
    assert "corrected" not in alone, "there is one comparison"
    assert "this is more than chance explains (p < 0.001)" in alone


def test_the_best_of_many_guessers_is_not_above_chance(tmp_path: Path, sample: Split) -> None:
    """Each is tested against chance, so the best of them is so by chance more often than 5 %."""
    chapter = Chapter("t", pools(tmp_path, sample, 2, 9, 8), {})
    lines = []
    for p, line in zip((0.03, 0.6, 0.5), overview.lines(chapter), strict=False):
        share = replace(line.marks["accuracy"], p=p)
        lines.append(replace(line, marks={**line.marks, "accuracy": share}))
    lines[0] = replace(lines[0], marks={"accuracy": replace(lines[0].marks["accuracy"], value=0.99)})
    best = verdict.sentences(chapter, lines)[0]
    assert "it is not told from chance (p = 0.090 after Holm's correction for 3 systems)." in best


def test_people_with_as_many_right_have_not_less(tmp_path: Path, sample: Split) -> None:
    chapter = Chapter("t", pools(tmp_path, sample, 4), {})
    lines = overview.lines(chapter)
    (system, people) = (next(line for line in lines if line.kind == kind) for kind in ("system", "people"))
    level = [*lines, replace(people, marks=dict(system.marks))]
    level.remove(people)
    assert verdict.sentences(chapter, level)[-1].endswith(" % right (published, on other items): as many.")


def test_a_shared_letter_is_not_said_to_show_that_systems_are_equal(tmp_path: Path, sample: Split) -> None:
    runs = [run(tmp_path / str(wrong), sample, wrong, prompt=f"p{wrong}") for wrong in (8, 9)]
    page = report(tmp_path / "out", *runs)
    assert page.count("o difference was found between systems that share a letter") == 1
    three = report(tmp_path / "three", *runs, run(tmp_path / "2", sample, 2, prompt="p2"))
    table = (tmp_path / "three" / "tables" / "systems.tex").read_text()
    assert "no difference in accuracy was found between systems that share a letter" in table
    assert "do not differ" not in page + three + table


def test_without_labels_nothing_is_said(tmp_path: Path, sample: Split) -> None:
    assert verdict.sentences(Chapter("t", pools(tmp_path, sample, 4), {}), []) == []


def test_a_small_difference_that_was_found_is_none_of_level_systems() -> None:
    """Of 20,000 items, 9 are 0.045 points."""
    some = tuple(
        Pool(name, (System(name, Path(name), {"facts": {}}, tuple(answers(wrong)), name),))
        for name, wrong in (("a", 1000), ("b", 1009))
    )
    lines = [Line(pool.name, {verdict.METRIC: found}) for pool in some if (found := accuracy(pool.runs[0]))]
    second = verdict.sentences(Chapter("t", some, {}), lines)[1]
    assert second.startswith("It is less than 0.1 points ahead of b (95 % interval +0.0 – +0.1); this is")


@pytest.mark.parametrize(
    ("p", "said"), [(0.0496, "< 0.05"), (0.05, "= 0.050"), (0.049, "= 0.049"), (0.0001, "< 0.001")]
)
def test_a_p_that_is_below_the_level_is_not_rounded_to_it(p: float, said: str) -> None:
    """ "This is more than chance explains (p = 0.050)" contradicted itself."""
    assert verdict._p(p) == said


def answers(wrong: int) -> Iterator[Prediction]:
    for n in range(20_000):
        yield Prediction(str(n), str(n), 0, (0.0, 1.0) if n < wrong else (1.0, 0.0))
