"""Published numbers beside the systems of a report: those to compare with, and all others with notes."""

from collections.abc import Sequence
from typing import Any

from figlang.reports import showing, surface
from figlang.reports.parts import Chapter, Part, Prose, Section
from figlang.reports.ranked import Line
from figlang.reports.terminal import TITLES
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, Mean, Table
from figlang.tasks.reference import Comparison, share
from figlang.tasks.task import Task
from figlang.text.amounts import form

SHOWN = (TITLES["accuracy"], TITLES["pair_accuracy"])  # metrics in the figure
COLUMNS = ("model", "training", "metric", "value", "where", "note")


def beside(
    chapter: Chapter, columns: Sequence[tuple[str, Sequence[Cell]]]
) -> tuple[list[tuple[Cell, ...]], list[str]]:
    """Rows to add to a summary, with notes: chance, the best rule without a model, people, and the best
    published systems.

    `columns` are the metrics of the summary, each with a heading and a cell for each system. A row has a
    name, an empty n and a cell for each metric.
    """
    chances = [
        next((cell.chance for cell in cells if isinstance(cell, Estimate)), None) for _, cells in columns
    ]
    rows: list[tuple[Cell, ...]] = []
    if any(chance is not None for chance in chances):
        rows.append(("chance", None, *(None if chance is None else Mean(chance) for chance in chances)))
    if rule := next(iter(chapter.rules), None):
        cells = (rule.accuracy if heading == TITLES["accuracy"] else None for heading, _ in columns)
        rows.append((f"best rule without a model: {rule.rule}", rule.accuracy.n, *cells))
    notes = [surface.BEST.format(len(chapter.rules))] if len(chapter.rules) > 1 else []
    for name, members in _orienting(chapter):
        by_heading = {heading: _of(members, heading) for heading, _ in columns}
        if any(by_heading.values()):
            rows.append(
                (name, None, *(None if one is None else share(one.published) for one in by_heading.values()))
            )
            notes += [_about(name, one, chapter.task) for one in by_heading.values() if one]
    return rows, notes


def _orienting(chapter: Chapter) -> list[tuple[str, list[Comparison]]]:
    """Published numbers that show what can be reached: people's, and the best one of a system.

    The best one that was measured on these items is first; a better one that was measured on others follows.
    """
    settings = _known(chapter).get("data", {}).get("settings", {})
    if any(settings.get(name) for name in ("file", "train", "validation")):  # items of one's own
        return []
    found = [one for one in _compared(chapter) if one.published.value is not None and one.orients]
    people = [one for one in found if one.published.model == "Human"]
    systems = [one for one in found if one.published.metric == "accuracy" and not one.published.of_people]
    here = _best([one for one in systems if one.comparable])
    other = _best([one for one in systems if not one.comparable])
    better = other and (here is None or (other.published.value or 0) > (here.published.value or 0))
    return [
        ("people, published", people),
        ("best published", [here] if here else []),
        ("best published, other items", [other] if other and better else []),
    ]


def _best(some: Sequence[Comparison]) -> Comparison | None:
    return max(some, key=lambda one: one.published.value or 0, default=None)


def lines(chapter: Chapter) -> list[Line]:
    """Lines of the figure of systems for the published numbers, with the metrics that the systems have."""
    made = []
    for name, members in _orienting(chapter):
        found = {metric: one for metric in SHOWN if (one := _of(members, metric))}
        if found:
            made.append(
                Line(
                    name if name.startswith("people") else f"best published: {members[0].published.model}",
                    {metric: Mean((one.published.value or 0) / 100) for metric, one in found.items()},
                    "people" if name.startswith("people") else "published",
                    elsewhere=not all(one.comparable for one in found.values()),
                    note=" ".join(dict.fromkeys(_about(name, one, chapter.task) for one in found.values())),
                )
            )
    return made


def _of(members: Sequence[Comparison], heading: str) -> Comparison | None:
    # If there are several numbers, for example of question types, take a comparable one. The others are only
    # in the table of published results.
    some = [
        one
        for one in members
        if TITLES.get(one.published.metric) == heading and one.published.value is not None
    ]
    chosen = [one for one in some if one.comparable] or some
    return chosen[0] if len(chosen) == 1 else None


def _about(name: str, one: Comparison, task: Task) -> str:
    row = one.published
    model = () if one.published.of_people else (row.model, _training(one, task))
    said = ", ".join(filter(None, (*model, row.paper, row.table)))
    return f"{name}: {'; '.join(filter(None, (said, one.reason, row.note.rstrip('.'))))}."


def _known(chapter: Chapter) -> dict[str, Any]:
    """The metrics.json that names the evaluated data; empty for predictions files without one."""
    return next((dict(system.content) for system in chapter.systems if "data_name" in system.content), {})


def _compared(chapter: Chapter) -> list[Comparison]:
    known = _known(chapter)
    return showing.compare(known, chapter.task) if known else []


def sections(chapter: Chapter) -> list[Section]:
    """Sections of published rows with notes: comparable rows and people; and, folded, the others with the
    reason why they are not comparable."""
    found = _compared(chapter)
    usable = [one for one in found if one.comparable]
    people = [one for one in found if not one.comparable and one.published.of_people]
    others = [one for one in found if not one.comparable and not one.published.of_people]
    first: list[Part] = []
    if found and not usable:
        first.append(Prose("No published number was measured on these very items."))
    for name, title, members in (
        ("published", "Published, measured on these items", usable),
        ("people", "People, published", people),
    ):
        if members:
            first.append(Table(name, title, COLUMNS, tuple(_row(one, chapter.task) for one in members)))
    made = [Section("Published results", tuple(first))] if first else []
    if others:
        table = Table(
            "published_elsewhere",
            "Published, not comparable",
            COLUMNS,
            tuple(_row(one, chapter.task) for one in others),
        )
        made.append(Section("Published, not comparable with this evaluation", (table,), folded=True))
    return made


def _row(one: Comparison, task: Task) -> tuple[Cell, ...]:
    row = one.published
    value = None if row.value is None else f"{row.value:.2f}"
    note = "; ".join(filter(None, (one.reason, row.note)))
    return (
        row.model,
        _training(one, task),
        row.metric.replace("_", " "),
        value,
        ", ".join(filter(None, (row.paper, row.table))),
        note,
    )


def _today(printed: str | None, task: Task) -> str | None:
    """The training data as printed, with today's name of a size that the paper calls by another word."""
    for size, called in task.printed_sizes.items():
        if printed is not None and f"({called})" in printed:
            return f"{printed}, here {task.name}_{size}"
    return printed


def _training(one: Comparison, task: Task) -> str:
    given = one.published.setting
    parts = (given.get("regime"), _today(given.get("train"), task), given.get("question"))
    setting = " ".join(part for part in parts if part and part != "-")  # people have no training data
    return setting + (
        f", {given['shots']} {form(int(given['shots']), 'example')}" if given.get("shots") else ""
    )
