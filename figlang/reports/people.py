"""The report's section about people who answered the same items: their accuracy, and the human ceiling."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from figlang.errors import FiglangError
from figlang.reports.parts import Chapter, Section, fitted
from figlang.reports.ranked import Line
from figlang.reports.terminal import TITLES
from figlang.statistics.common import LEVELS, Answered, level, shares
from figlang.statistics.comparison import mean_accuracy, mean_pair_accuracy
from figlang.statistics.metrics import Estimate, accuracy, pair_accuracy
from figlang.tables import Cell, Table
from figlang.text.amounts import counted
from figlang.types import Prediction

Choices = Sequence[Answered]
NOTE = (
    "Intervals are over clusters of items. The majority is the option that most raters chose; a tie is "
    "wrong. Answers of several raters to one item are not independent of each other, which the intervals "
    "respect."
)
CEILING = (
    "Items by how many of their raters are right. Systems are measured on these items alone. Where no rater "
    "is right, the label may be wrong."
)
WORDS = {"all": "all", "most": "more than half", "half or fewer": "half or fewer", "none": "none"}


def section(chapter: Chapter) -> Section | None:
    """Tables about people: who is right how often, and how systems do on items that people find easy or hard.

    None if no people are given, or if they answered no labelled item of the chapter.
    """
    known = answered(chapter)
    if not known:
        return None
    return Section("People", (fitted(_accuracies(chapter, known)), _ceiling(chapter, known)))


def answered(chapter: Chapter) -> dict[str, tuple[Prediction, Choices]]:
    """The labelled items that people answered, each with a system's row and their choices."""
    return {
        row.id: (row, chapter.people[row.id])
        for row in chapter.systems[0].predictions
        if row.gold is not None and row.id in chapter.people
    }


def check(chosen: Mapping[str, Choices], rows: Sequence[Prediction]) -> None:
    """Check that people chose among the options of the items. Another number would count as a wrong answer.

    Args:
        chosen: What people chose, by the id of the item.
        rows: The predictions of a system.

    Raises:
        FiglangError: A choice is the number of no option. It names the item.
    """
    for row in rows:
        for one in chosen.get(row.id, ()):
            if one.choice >= len(row.scores):
                raise FiglangError(
                    f"people=: the choice {one.choice + 1} for {row.id} is the number of no option; it has "
                    f"{len(row.scores)}, in the order of the predictions, from 1"
                )


def line(chapter: Chapter) -> Line | None:
    """People's majority as a line of the figure of systems; hollow if they did not answer all items."""
    known = answered(chapter)
    rows = _majority(known)
    marks = {
        TITLES[name]: found
        for name, found in (("accuracy", accuracy(rows)), ("pair_accuracy", pair_accuracy(rows)))
        if found is not None
    }
    if not marks:
        return None
    whole = len(rows) == len(chapter.systems[0].predictions)
    note = f"{called(chapter)}: the option that most of them chose, on {counted(len(rows), 'item')}."
    return Line(called(chapter), marks, "people", elsewhere=not whole, note=note)


def called(chapter: Chapter) -> str:
    """People in a table: how many they are, if the file names them."""
    names = {one.rater for several in chapter.people.values() for one in several if one.rater}
    return f"people, majority of {len(names)}" if len(names) > 1 else "people"


def _majority(known: Mapping[str, tuple[Prediction, Choices]]) -> list[Prediction]:
    return [replace(row, scores=shares(several, len(row.scores))) for row, several in known.values()]


def _accuracies(chapter: Chapter, known: Mapping[str, tuple[Prediction, Choices]]) -> Table:
    every = [(row, one) for row, several in known.values() for one in several]
    named = [name for name in dict.fromkeys(one.rater for _, one in every) if name]
    parts = [(name, [(row, one) for row, one in every if one.rater == name]) for name in named]
    rows: list[tuple[Cell, ...]] = []
    for name, some in [
        *parts,
        ("all answers", every),
        ("confident answers", [x for x in every if x[1].confident]),
    ]:
        if name == "confident answers" and len(some) in (0, len(every)):
            continue
        chosen = [replace(row, scores=shares([one], len(row.scores))) for row, one in some]
        # Pairs are of one person's answers.
        pairs = pair_accuracy(chosen) if name in named else None
        rows.append((name, len(chosen), accuracy(chosen), pairs))
    majority = _majority(known)
    rows.append(("majority", len(majority), accuracy(majority), pair_accuracy(majority)))
    for pool in chapter.pools:
        runs = [[row for row in run if row.id in known] for run in pool.runs]
        rows.append((pool.name, len(runs[0]), mean_accuracy(runs), mean_pair_accuracy(runs)))
    columns = ("who", "answers", TITLES["accuracy"], TITLES["pair_accuracy"])
    title = f"People and systems on the {counted(len(known), 'item')} that people answered"
    return Table("people_accuracy", title, columns, tuple(rows), (NOTE,), (len(rows) - len(chapter.pools),))


def _ceiling(chapter: Chapter, known: Mapping[str, tuple[Prediction, Choices]]) -> Table:
    levels = {
        name: level(sum(one.choice == row.gold for one in several), len(several))
        for name, (row, several) in known.items()
    }
    rows: list[tuple[Cell, ...]] = []
    for word in LEVELS:
        ids = {name for name, found in levels.items() if found == word}
        if ids:
            rows.append((WORDS[word], len(ids), *_on(chapter, ids)))
    columns = ("raters who are right", "items", *(pool.name for pool in chapter.pools))
    return Table(
        "human_ceiling",
        "Human ceiling: accuracy by how many people are right",
        columns,
        tuple(rows),
        (CEILING,),
    )


def _on(chapter: Chapter, ids: set[str]) -> list[Estimate | None]:
    return [
        mean_accuracy([[row for row in run if row.id in ids] for run in pool.runs]) for pool in chapter.pools
    ]
