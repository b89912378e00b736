"""Accuracy by attribute, every share with its n and interval, rare values in one row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figlang.statistics.comparison import Runs, mean_accuracies
from figlang.statistics.metrics import Estimate

FEWEST = 10  # the paper's tables show values with ten items or more


@dataclass(frozen=True)
class Cell:
    """Accuracy on the items with one value of an attribute, or, if `merged`, with any of that many rare
    values."""

    value: str
    estimate: Estimate
    merged: int = 0


def by_attribute(runs: Runs, values: Mapping[str, Sequence[str]], fewest: int = FEWEST) -> list[Cell]:
    """Cells in falling order of n, for a system with one run per seed. `values` are those of every item by
    its id.

    An item counts under each of its values. Values of fewer than `fewest` items are one cell together, the
    last, in which an item counts once.
    """
    labelled = [row.id for row in runs[0] if row.gold is not None]
    members: dict[str, list[str]] = defaultdict(list)
    for name in labelled:
        for value in dict.fromkeys(values.get(name, ())):
            members[value].append(name)
    rare = {value for value, names in members.items() if len(names) < fewest}
    if len(rare) == 1:  # one rare value is itself: merging would only hide its name
        rare = set()
    ordered = sorted(
        ((value, names) for value, names in members.items() if value not in rare),
        key=lambda one: (-len(one[1]), one[0]),
    )
    shown = [(value, names, 0) for value, names in ordered]
    if rare:
        together = [name for name in labelled if not rare.isdisjoint(values.get(name, ()))]
        shown.append((f"{len(rare)} rare values", together, len(rare)))
    by_id = [{row.id: row for row in rows} for rows in runs]
    found = mean_accuracies(
        [[[rows[name] for name in names if name in rows] for rows in by_id] for _, names, _ in shown]
    )
    return [Cell(value, one, merged) for (value, _, merged), one in zip(shown, found, strict=True) if one]


def by_quarters(runs: Runs, values: Mapping[str, Sequence[str]]) -> list[Cell]:
    """The same of an attribute that is a number, by its quarters, the lowest first."""
    cells = by_attribute(runs, quarters(values), 1)
    return sorted(cells, key=lambda cell: float(cell.value.partition(" – ")[0]))


def quarters(values: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """An attribute that is a number, as the quarter of the ranks that it is in; equal numbers are in one
    quarter."""
    numbers = {name: float(each[0]) for name, each in values.items() if each}
    if not numbers:
        return {}
    edges = np.quantile(list(numbers.values()), (0, 0.25, 0.5, 0.75, 1))
    places = np.clip(np.searchsorted(edges, list(numbers.values()), side="left") - 1, 0, 3)
    return {
        name: (f"{edges[place]:.3f} – {edges[place + 1]:.3f}",)
        for name, place in zip(numbers, places, strict=True)
    }
