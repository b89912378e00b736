"""The report's section about errors that two systems share, or a system and people."""

from figlang.errors import FiglangError
from figlang.machine import bars
from figlang.reports.parts import ROWS, Chapter, Part, Prose, Section, fitted
from figlang.statistics.common import Common, Wrong, every_two, in_common, wrong, wrong_of_people
from figlang.tables import Cell, Number, Range, Table

PEOPLE = "people"
LISTED = 20  # items that are shown; all of them are in the item browser
NOTE = (
    "Expected: number of shared errors if the errors were independent. phi: correlation of the errors, 0 if "
    "they are independent; its 95 % interval is over clusters of items and not corrected for the number of "
    "rows."
)
ALIKE = "Systems whose errors are most alike come first."


def common(chapter: Chapter, people: dict[str, int | None]) -> Section | None:
    """Table of the errors that two systems share, or a system and people, and of items that all miss (§6.3).

    None if there is only one system and no people, or if labels are hidden. Raises FiglangError if people
    answered none of the items.
    """
    missed: dict[str, Wrong] = {pool.name: wrong(pool.systems[0].predictions) for pool in chapter.pools}
    if not any(missed.values()):
        return None
    groups = {row.id: row.group for row in chapter.systems[0].predictions}
    pairs = len(missed) * (len(missed) - 1) // 2
    found = list(bars.track(every_two(missed, groups), "errors in common", pairs))
    if people:
        theirs = wrong_of_people(people, chapter.systems[0].predictions)
        if not theirs:
            raise FiglangError(
                "the file people= has no answer to an item of the runs; its column id must hold the ids of "
                "their predictions files"
            )
        beside = [(name, PEOPLE, in_common(each, theirs, groups)) for name, each in missed.items()]
        found = [*((one, other, common) for one, other, common in beside if common), *found]
        missed[PEOPLE] = theirs
    if len(missed) < 2:
        return None
    published, many = chapter.task.beside("errors_in_common"), pairs > ROWS
    if many:
        found.sort(key=_alike)
    rows = [_row(*one) for one in found]
    rows = [*published.rows, *rows] if many else [*rows, *published.rows]
    columns = (
        "system",
        "other",
        "items",
        "its errors",
        "the other's",
        "shared",
        "expected",
        "phi",
        "95 % CI",
    )
    title = f"Errors in common{f' ({published.place})' if published.place else ''}"
    notes = (NOTE, *([ALIKE] if many else []), *chapter.single)
    parts: list[Part] = [fitted(Table("errors_in_common", title, columns, tuple(rows), notes))]
    if published.remark and not people:
        parts.append(Prose(published.remark, "note"))
    parts.append(_all_miss(chapter, missed))
    return Section("Errors in common", tuple(parts))


def _alike(one: tuple[str, str, Common]) -> float:
    r = one[2].correlation
    return 0.0 if r is None else -r.r


def _row(one: str, other: str, found: Common) -> tuple[Cell, ...]:
    r = found.correlation
    phi: tuple[Cell, ...] = (None, None) if r is None else (Number(r.r), Range(r.low, r.high))
    return one, other, found.n, found.first, found.second, len(found.shared), Number(found.expected), *phi


def _all_miss(chapter: Chapter, missed: dict[str, Wrong]) -> Part:
    answered = set.intersection(*(set(each) for each in missed.values()))
    names = [
        row.id
        for row in chapter.systems[0].predictions
        if row.id in answered and all(each[row.id] for each in missed.values())
    ]
    whom = "people and every system" if PEOPLE in missed else "every system"
    if not names:
        return Prose(f"No item is missed by {whom}.")
    rows: list[tuple[Cell, ...]] = []
    for name in names[:LISTED]:
        item = chapter.items.get(name)
        right = "" if item is None or item.gold is None else item.options[item.gold]
        rows.append((name, "" if item is None else item.context, right))
    title = f"Items that {whom} miss{'es' if PEOPLE not in missed else ''}: {len(names)} of {len(answered)}"
    notes = (f"The first {LISTED}.",) if len(names) > LISTED else ()
    return Table("missed_by_all", title, ("item", "context", "right answer"), tuple(rows), notes)
