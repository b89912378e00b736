"""Accuracy by language, with the mean of the languages and their distance to English."""

from collections.abc import Mapping, Sequence

from figlang.statistics import breakdown
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, Mean, Table
from figlang.tasks.mabl.reading import ENGLISH, LANGUAGES, NAMES
from figlang.tasks.task import System

MEAN = "The mean gives every language the same weight. ± is the standard deviation over languages."
DISTANCE = "Distance to English: the mean of the other languages minus English, in points."


def table(systems: Sequence[System], languages: Mapping[str, Sequence[str]]) -> Table:
    """A row for each system and a column for each language.

    Args:
        systems: The measured systems.
        languages: The language of each item, by its id.
    """
    present = [name for name in NAMES.values() if any(name in values for values in languages.values())]
    english = NAMES[ENGLISH]
    rows: list[tuple[Cell, ...]] = []
    for name, runs in systems:
        cells = breakdown.by_attribute(runs, languages, fewest=1)
        by_language = {cell.value: cell.estimate for cell in cells}
        rows.append((name, *(by_language.get(each) for each in present), *_summary(by_language)))
    columns = ("system", *present, "mean", "distance to English")
    notes = (MEAN, DISTANCE) if english in present else (MEAN,)
    return Table("languages", "Accuracy by language", columns, tuple(rows), notes=notes)


def _summary(by_language: Mapping[str, Estimate]) -> tuple[Cell, Cell]:
    values = [by_language[each].value for each in LANGUAGES.values() if each in by_language]
    if not values:
        return None, None
    mean = Mean.over(values)
    english = by_language.get(NAMES[ENGLISH])
    return mean, None if english is None else f"{100 * (mean.value - english.value):+.1f}"
