"""Metrics from predictions: pure functions of the rows of a predictions file."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from string import ascii_uppercase

import numpy as np

from figlang.statistics.clustered import FEW, SHARE, Ratios, Support
from figlang.types import QUANTITIES, Prediction

# The attributes of items that are asked in several orders of their options, with all of their values.
ORDERS = {
    "order": frozenset({"right first", "wrong first", "label hidden"}),
    "letter": frozenset({*ascii_uppercase, "hidden"}),
}


@dataclass(frozen=True)
class Estimate:
    """A share with its 95 % interval and a test against guessing.

    `low`, `high` and `p` come from one test (`figlang.statistics.clustered`). It treats clusters as
    independent, not cases.

    Attributes:
        value: The share.
        low: Lower end of the interval.
        high: Upper end.
        n: Number of cases.
        chance: The share that guessing gives. None if guessing has no fixed rate, for example to be right in
            all orders of a question.
        p: Two-sided p against `chance`, because a share below chance is not guessing either. None without
            `chance`.
        clusters: Number of clusters; None in files of earlier versions.
    """

    value: float
    low: float
    high: float
    n: int
    chance: float | None = None
    p: float | None = None
    clusters: int | None = None

    @property
    def few(self) -> bool:
        """Whether there are too few clusters to trust an interval."""
        return self.clusters is not None and self.clusters < FEW


def by_group(predictions: Sequence[Prediction]) -> dict[str, list[Prediction]]:
    """Predictions with a known gold option, by group."""
    groups: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        if prediction.gold is not None:
            groups[prediction.group].append(prediction)
    return groups


def pairs(predictions: Sequence[Prediction]) -> list[list[Prediction]]:
    """Groups of two or more items with a known gold option that count as right together (see `Item`)."""
    return [members for members in by_group(predictions).values() if len(members) > 1 and members[0].paired]


def accuracy(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of items whose choice is the gold option; None without any gold option."""
    return accuracies([predictions])[0]


def accuracies(lists: Sequence[Sequence[Prediction]]) -> list[Estimate | None]:
    """The accuracy of each of several lists of predictions.

    All intervals are computed at once, which takes little more time than one.
    """
    groups = [by_group(predictions).values() for predictions in lists]
    known = [
        [[bool(row.correct) for row in members] for members in clusters] for clusters in groups if clusters
    ]
    chances = [
        float(np.mean([1 / len(row.scores) for members in clusters for row in members]))
        for clusters in groups
        if clusters
    ]
    estimates = iter(
        ratios([(list(map(sum, clusters)), list(map(len, clusters))) for clusters in known], chances)
    )
    return [next(estimates) if clusters else None for clusters in groups]


def pair_accuracy(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of groups in which all items are right (Liu et al. 2022, §5.1 and appendix D).

    None without a group of two or more items.
    """
    together = pairs(predictions)
    if not together:
        return None
    # A network that ignores the order of the options guesses once for all orders of a question. Another one
    # guesses in each order. So there is no fixed chance.
    in_orders = any(_in_orders(member) for members in together for member in members)
    chance = (
        None
        if in_orders
        else float(np.mean([np.prod([1 / len(member.scores) for member in members]) for members in together]))
    )
    return ratio(
        [int(all(member.correct for member in members)) for members in together], [1] * len(together), chance
    )


def consistency(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of Winograd pairs in which the choice flips when the metaphor flips, right or wrong."""
    twos = [members for members in pairs(predictions) if len(members) == 2]
    if not twos:
        return None
    flipped = [int(None not in (a.choice, b.choice) and a.choice != b.choice) for a, b in twos]
    return ratio(flipped, [1] * len(twos))


def same_answer(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of Winograd pairs in which both metaphors get the same option. The others flip or hold a tie."""
    twos = [members for members in pairs(predictions) if len(members) == 2]
    if not twos:
        return None
    same = [int(a.choice is not None and a.choice == b.choice) for a, b in twos]
    return ratio(same, [1] * len(twos))


def first_option(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of choices that are the first option, if items are asked in every order of their options.

    Such items have an attribute `order` or `letter` (`ORDERS`). Without a bias for a place, the share is 1 /
    the number of options. An item without a choice (a tie, a reply that cannot be read) does not count, since
    it would look like a bias for the other options. None without such choices.
    """
    asked = [row for row in predictions if _in_orders(row) and row.choice is not None]
    groups = by_group(asked).values()
    if not groups:
        return None
    first = [sum(member.choice == 0 for member in members) for members in groups]
    return ratio(first, [len(members) for members in groups])


def _in_orders(row: Prediction) -> bool:
    """Whether an item was asked in several orders of its options. Own data may have attributes of these names
    with other values."""
    return any(values.issuperset(row.attributes.get(name) or ("",)) for name, values in ORDERS.items())


METRICS = {
    "accuracy": accuracy,
    "pair_accuracy": pair_accuracy,
    "consistency": consistency,
    "same_answer": same_answer,
    "first_option": first_option,
}


def measure(predictions: Sequence[Prediction]) -> dict[str, object]:
    """Compute every metric, overall and by attribute, as plain data.

    It needs nothing but the rows of a predictions file, and gives the numbers of metrics.json again.
    """
    cells: dict[str, dict[str, list[Prediction]]] = defaultdict(lambda: defaultdict(list))
    known = {name: [row.attributes.get(name, ()) for row in predictions] for name in QUANTITIES}
    numeric = {name for name, values in known.items() if numbers(values)}
    for prediction in predictions:
        for attribute in prediction.attributes.keys() - numeric:
            for category in prediction.attributes[attribute]:
                cells[attribute][category].append(prediction)
    places = [(attribute, name) for attribute, values in sorted(cells.items()) for name in sorted(values)]
    attributes: dict[str, dict[str, object]] = {attribute: {} for attribute, _ in places}
    whole, *parts = accuracies([predictions, *(cells[attribute][name] for attribute, name in places)])
    of_gold = {attribute for attribute, values in cells.items() if _tells_gold(values)}
    for (attribute, name), estimate in zip(places, parts, strict=True):
        if estimate:
            shown = replace(estimate, chance=None, p=None) if attribute in of_gold else estimate
            attributes[attribute][name] = asdict(shown)
    # The accuracy was computed together with that of the parts.
    measured = {"accuracy": whole}
    measured |= {name: metric(predictions) for name, metric in METRICS.items() if name != "accuracy"}
    overall = {name: asdict(estimate) for name, estimate in measured.items() if estimate is not None}
    ties = sum(prediction.choice is None for prediction in predictions)
    hidden = sum(prediction.gold is None for prediction in predictions)
    return {**overall, "items": len(predictions), "hidden": hidden, "ties": ties, "accuracy_by": attributes}


def numbers(values: Iterable[Sequence[str]]) -> bool:
    """Whether all values of an attribute are numbers. Own data may have words under the name of a quantity.

    Args:
        values: The values of each item.
    """
    try:
        return all(isfinite(float(text)) for texts in values for text in texts)
    except ValueError:
        return False


def _tells_gold(values: Mapping[str, Sequence[Prediction]]) -> bool:
    """Whether the right option follows from the value of an attribute, as from the class of NLI.

    Then a system that always chooses the same option has 100 % or nothing of each value. So chance says
    nothing there.
    """
    golds = [{row.gold for row in rows if row.gold is not None} for rows in values.values()]
    return all(len(found) <= 1 for found in golds) and len(set().union(*golds)) > 1


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (ddof 1) of a metric over seeds.

    The deviation of a single value is None.
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def over_groups(values: Iterable[tuple[str, float]], support: Support = SHARE) -> Estimate:
    """The mean of values, with its interval over groups.

    Args:
        values: The group and the value of each case.
        support: Range of a case's value.
    """
    groups: dict[str, list[float]] = defaultdict(list)
    for group, value in values:
        groups[group].append(value)
    return ratio(list(map(sum, groups.values())), list(map(len, groups.values())), support=support)


def ratio(
    hits: Sequence[float], sizes: Sequence[float], chance: float | None = None, support: Support = SHARE
) -> Estimate:
    """The ratio of sums over clusters, with its interval and its test against chance.

    Args:
        hits: Sum over the cases of each cluster.
        sizes: Number of cases of each cluster.
        chance: The value to test; None tests nothing.
        support: Range of a case's value.
    """
    return ratios([(hits, sizes)], [chance], support)[0]


def ratios(
    cases: Sequence[tuple[Sequence[float], Sequence[float]]],
    chances: Sequence[float | None],
    support: Support = SHARE,
) -> list[Estimate]:
    """Compute `ratio` for several cases, each with its own hits, sizes and chance."""
    if not cases:
        return []
    stacked = Ratios.stacked([Ratios.of(hits, sizes, support) for hits, sizes in cases])
    p_B = stacked.p(
        np.array(
            [
                value if chance is None else chance
                for chance, value in zip(chances, stacked.values, strict=True)
            ]
        )
    )
    columns = zip(cases, chances, stacked.values, *stacked.intervals(), p_B, strict=True)
    return [
        Estimate(
            float(value),
            float(low),
            float(high),
            int(sum(sizes)),
            chance,
            None if chance is None else float(p),
            len(sizes),
        )
        for (_, sizes), chance, value, low, high, p in columns
    ]


def as_row(metrics: Mapping[str, object], name: str) -> Estimate | None:
    """Read a metric from the result of `measure`; None if it was not defined there."""
    numbers = metrics.get(name)
    return Estimate(**numbers) if isinstance(numbers, dict) else None
