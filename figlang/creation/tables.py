"""The tables of a data card."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from figlang.creation.checks import Checked, Look
from figlang.creation.drafts import Drafts, Fault
from figlang.statistics import metrics
from figlang.tables import Cell, Mean, Number, Table
from figlang.text.amounts import counted, form
from figlang.types import Item

CHECKS = {
    "fields": "all parts are there",
    "metaphors": "the two metaphors of a pair differ",
    "meanings": "the meanings or options differ, and none repeats a metaphor",
    "file": "every row can be read as it stands",
    "swap": "another option is right for the other item of a pair",
    "repeated": "no earlier item has the same words",
    "elsewhere": "no near-duplicate in the other data sets",
    "near": "no near-duplicate in this file",
    "people": "people choose the writer's option",
    "blind": "no guesser gets it right in all looks without the context",
}
SHOWN = 5  # looks of a guesser that have a row each


def counts(drafts: Drafts, found: Checked, splits: Mapping[str, Sequence[Item]]) -> Table:
    """How many items came in, stay, and are in each split."""
    listed: list[tuple[str, Sequence[Item]]] = [
        ("came in", drafts.items),
        ("dropped", [item for item, _ in found.dropped]),
        ("kept", found.kept),
        *splits.items(),
    ]
    rows = tuple((name, len(some), len({item.group for item in some})) for name, some in listed)
    notes = (
        ()
        if not drafts.blank
        else (f"{drafts.blank} {form(drafts.blank, 'row is', 'rows are')} blank so far.",)
    )
    return Table("items", "Items", ("part", "items", "clusters"), rows, notes)


def checks(faults: Sequence[Fault], keep: str) -> Table:
    """How many rows or items each check found."""
    found = Counter(fault.check for fault in faults)
    rows = []
    for name, wanted in CHECKS.items():
        kept = name == "near" or (name == "blind" and keep == "all")
        done = "kept" if kept else f"keep={keep}" if name == "blind" else "left out with its pair"
        done = "as checks.csv says" if name == "file" else done
        rows.append((name, wanted, found[name], done))
    notes = ("Near-duplicates stay in one split. checks.csv has a row for each finding.",)
    return Table(
        "checks", "Checks", ("check", "what is wanted", "findings", "what is done"), tuple(rows), notes
    )


def looks(made: Sequence[Look], flagged: Mapping[str, Sequence[str]]) -> Table | None:
    """How often each guesser is right with the context hidden; None without guessers."""
    if not made:
        return None
    rows: list[tuple[Cell, ...]] = []
    number = Counter(look.guesser for look in made)
    for guesser, many in number.items():
        some = [look for look in made if look.guesser == guesser]
        if many > SHOWN:
            values = [found.value for look in some if (found := metrics.accuracy(look.blind)) is not None]
            ties = sum(map(_ties, some)) / many
            rows.append((guesser, f"mean of {many} ± sd", Mean.over(values), f"{ties:.0f}", None))
            continue
        for look in some:
            seen = None if look.seeing is None else metrics.accuracy(look.seeing)
            rows.append((guesser, look.name, metrics.accuracy(look.blind), str(_ties(look)), seen))
    notes = [
        f"{guesser}: right in all of its looks ({number[guesser]}) on {counted(many, 'item')}, which "
        f"{form(many, 'is', 'are')} flagged."
        for guesser in number
        for many in [sum(guesser in names for names in flagged.values())]
    ]
    if few := [guesser for guesser, many in number.items() if many < 3]:
        notes.append(
            f"{', '.join(few)} had fewer than three looks, so that luck flags many items; give several "
            "checkpoints."
        )
    notes.append(
        "Before flagged items are dropped. A tie is wrong. In pairs whose options swap, the learner of words "
        "has only ties."
    )
    columns = ("guesser", "look", "accuracy without the context", "ties", "accuracy with it")
    return Table("blind", "Blind guessers", columns, tuple(rows), tuple(notes))


def _ties(look: Look) -> int:
    return sum(row.choice is None for row in look.blind)


def people(agreed: Mapping[str, Any]) -> Table:
    """Agreement of people with the writers and with each other."""
    between = agreed["between"]
    rows: list[tuple[Cell, ...]] = [
        ("items that people answered", agreed["items"]),
        ("people", agreed["raters"]),
        ("answers", agreed["answers"]),
        ("answers that are the writers' option", agreed["answers_right"]),
        ("items whose majority is (human ceiling)", agreed["majority_right"]),
    ]
    for name, title in (("alpha_nominal", "alpha between people"), ("gwet_ac1", "Gwet's AC1 between people")):
        if between.get(name) is not None:
            rows.append((title, Number(between[name])))
    notes = ("Of all items that came in and were answered, before any is dropped. A tie of people is wrong.",)
    return Table("people", "Other people", ("measure", "value"), tuple(rows), notes)
