"""Accuracy by language, with the mean of the languages and their distance to English."""

from collections.abc import Mapping, Sequence

from figlang.statistics import breakdown
from figlang.statistics.clustered import Ratios
from figlang.statistics.comparison import Difference
from figlang.statistics.contrast import weighted_sum
from figlang.statistics.metrics import Estimate, by_group
from figlang.tables import Cell, Mean, Table
from figlang.tasks.mabl.reading import ENGLISH, LANGUAGES, NAMES
from figlang.tasks.task import System
from figlang.types import Prediction

MEAN = (
    "The mean{without} gives every language the same weight. Its interval is over clusters of items. It says "
    "nothing about further languages."
)
SEEDS = "± of a mean is the standard deviation over seeds."
DISTANCE = "Distance to English: this mean minus English, in points."


def table(systems: Sequence[System], languages: Mapping[str, Sequence[str]]) -> Table:
    """A row for each system and a column for each language.

    Args:
        systems: The measured systems.
        languages: The language of each item, by its id.
    """
    present = [name for name in NAMES.values() if any(name in values for values in languages.values())]
    others = [name for name in present if name in LANGUAGES.values()]
    with_english = NAMES[ENGLISH] in present
    rows: list[tuple[Cell, ...]] = []
    for name, runs in systems:
        cells = breakdown.by_attribute(runs, languages, fewest=1)
        by_language = {cell.value: cell.estimate for cell in cells}
        summary = _summary(runs, languages, others, with_english)
        rows.append((name, *(by_language.get(each) for each in present), *summary))
    mean = f"mean of the other {len(others)}" if with_english else f"mean of {len(others)}"
    notes = [MEAN.format(without=", without English," if with_english else "")]
    if any(len(runs) > 1 for _, runs in systems):
        notes.append(SEEDS)
    columns = ("system", *present, mean, *(["distance to English"] if with_english else []))
    if with_english:
        notes.append(DISTANCE)
    return Table("languages", "Accuracy by language", columns, tuple(rows), notes=tuple(notes))


def _summary(
    runs: Sequence[Sequence[Prediction]],
    languages: Mapping[str, Sequence[str]],
    others: Sequence[str],
    with_english: bool,
) -> list[Cell]:
    """The mean of the languages, and its distance to English if `with_english`. None if a language has no
    labelled item."""
    named = [*others, NAMES[ENGLISH]] if with_english else others
    found = [[_of_language(rows, languages, name) for name in named] for rows in runs]
    weights = [1 / len(others)] * len(others)
    distance = [*weights, -1.0]
    if not all(rows for each in found for rows in each):
        return [None] * (2 if with_english else 1)
    if len(runs) > 1:
        means = [sum(map(_share, each[: len(others)])) / len(others) for each in found]
        apart = [mean - _share(each[-1]) for mean, each in zip(means, found, strict=True)]
        return [Mean.over(means), *([Mean.over(apart)] if with_english else [])]
    rows = [row for each in found[0][: len(others)] for row in each]
    ratios = [_ratio(each) for each in found[0]]
    chance = sum(sum(1 / len(row.scores) for row in each) / len(each) for each in found[0][: len(others)])
    chance /= len(others)
    value, (low, high), p = weighted_sum(Ratios.stacked(ratios[: len(others)]), weights, chance)
    cells: list[Cell] = [Estimate(value, low, high, len(rows), chance, p, len(by_group(rows)))]
    if with_english:
        value, (low, high), p = weighted_sum(Ratios.stacked(ratios), distance)
        rows += found[0][-1]
        cells.append(Difference(value, low, high, p, len(rows), clusters=len(by_group(rows))))
    return cells


def _of_language(
    rows: Sequence[Prediction], languages: Mapping[str, Sequence[str]], name: str
) -> list[Prediction]:
    return [row for row in rows if row.gold is not None and name in languages.get(row.id, ())]


def _share(rows: Sequence[Prediction]) -> float:
    return sum(bool(row.correct) for row in rows) / len(rows)


def _ratio(rows: Sequence[Prediction]) -> Ratios:
    clusters = by_group(rows).values()
    return Ratios.of([sum(bool(row.correct) for row in each) for each in clusters], list(map(len, clusters)))
