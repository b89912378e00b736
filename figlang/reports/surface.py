"""Accuracy of simple rules that need no model: a section of the report, and a table of `figlang describe`."""

from collections.abc import Sequence

from figlang.reports.parts import Chapter, Section
from figlang.tables import Table
from figlang.tasks import surface
from figlang.types import Item

# A largest number of several is larger than the same rule's on other items would be.
BEST = "The best of {} rules is the best on these very items, and its interval does not count that."


def section(chapter: Chapter) -> Section | None:
    """The surface baselines of a report's items; None where their texts or labels are not known."""
    found = _table(chapter.rules, bool(chapter.training))
    return None if found is None else Section("Without a model", (found,), folded=True)


def table(items: Sequence[Item], training: Sequence[Item], of_training: bool) -> Table | None:
    """The accuracy of every rule, best first; None if no item has a known answer.

    Args:
        items: The items.
        training: The training items; empty if they are not known.
        of_training: Whether `items` are the training items.
    """
    return _table(surface.measure(items, training), bool(training) or of_training)


def _table(found: Sequence[surface.Baseline], trained: bool) -> Table | None:
    if not found:
        return None
    chance = found[0].accuracy.chance
    rows = tuple((one.rule, one.accuracy.n, one.accuracy, one.ties, one.decided) for one in found)
    notes = [
        "Rules that see lengths, words and frequencies only. Accuracies are in %, with 95 % intervals over "
        "clusters of items. A tie counts as wrong; the last column leaves ties out.",
        *([] if chance is None else [f"Guessing gets {100 * chance:.1f}."]),
        *([BEST.format(len(found))] if len(found) > 1 else []),
    ]
    if not trained:
        notes.append("Without the rule that goes by the training split: it was not read.")
    return Table(
        "surface",
        "Rules without a model",
        ("rule", "n", "accuracy", "ties", "without ties"),
        rows,
        tuple(notes),
    )
