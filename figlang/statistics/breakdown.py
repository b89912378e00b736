"""Accuracy by attribute: each share with its n and interval, rare values in one row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figlang.statistics.comparison import Runs, mean_accuracies
from figlang.statistics.metrics import Estimate

FEWEST = 10  # Liu et al. (2022) show values with ten items or more


@dataclass(frozen=True)
class ValueAccuracy:
    """Accuracy on the items with one value of an attribute.

    Attributes:
        value: The value, or a name for several rare values.
        estimate: The accuracy.
        merged: How many rare values this row holds together; 0 if it is one value.
    """

    value: str
    estimate: Estimate
    merged: int = 0


def by_attribute(
    runs: Runs, values: Mapping[str, Sequence[str]], fewest: int = FEWEST
) -> list[ValueAccuracy]:
    """Accuracy by the values of an attribute, in falling order of n.

    An item counts under each of its values. Values with fewer than `fewest` items are put together in the
    last row, in which an item counts once.

    Args:
        runs: The predictions of a system, one run for each seed.
        values: The values of each item, by its id.
        fewest: Fewest items for a row of its own.
    """
    labelled = [row.id for row in runs[0] if row.gold is not None]
    members: dict[str, list[str]] = defaultdict(list)
    for name in labelled:
        for value in dict.fromkeys(values.get(name, ())):
            members[value].append(name)
    rare = {value for value, names in members.items() if len(names) < fewest}
    if len(rare) == 1:  # a single rare value keeps its name
        rare = set()
    ordered = sorted(
        ((value, names) for value, names in members.items() if value not in rare),
        key=lambda named: (-len(named[1]), named[0]),
    )
    shown = [(value, names, 0) for value, names in ordered]
    if rare:
        together = [name for name in labelled if not rare.isdisjoint(values.get(name, ()))]
        shown.append((f"{len(rare)} rare values", together, len(rare)))
    by_id = [{row.id: row for row in rows} for rows in runs]
    estimates = mean_accuracies(
        [[[rows[name] for name in names if name in rows] for rows in by_id] for _, names, _ in shown]
    )
    return [
        ValueAccuracy(value, estimate, merged)
        for (value, _, merged), estimate in zip(shown, estimates, strict=True)
        if estimate
    ]


def by_quarters(runs: Runs, values: Mapping[str, Sequence[str]]) -> list[ValueAccuracy]:
    """Accuracy by the quarters of a numeric attribute, the lowest first."""
    rows = by_attribute(runs, quarters(values), 1)
    return sorted(rows, key=lambda row: float(row.value.partition(" – ")[0]))


def quarters(values: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """For each item, the quarter of the ranks that its number is in. Equal numbers are in one quarter."""
    numbers = {name: float(texts[0]) for name, texts in values.items() if texts}
    if not numbers:
        return {}
    edges = np.quantile(list(numbers.values()), (0, 0.25, 0.5, 0.75, 1))
    # Quarters of one name would be one row.
    digits = next(
        (few for few in range(3, 16) if len({f"{edge:.{few}f}" for edge in edges}) == len({*edges})), 16
    )
    places = np.clip(np.searchsorted(edges, list(numbers.values()), side="left") - 1, 0, 3)
    return {
        name: (f"{edges[place]:.{digits}f} – {edges[place + 1]:.{digits}f}",)
        for name, place in zip(numbers, places, strict=True)
    }
