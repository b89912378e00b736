"""Numbers from predictions: pure functions of the rows of a predictions file."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from figlang.statistics.clustered import FEW, SHARE, Ratios, Support
from figlang.types import QUANTITIES, Prediction


@dataclass(frozen=True)
class Estimate:
    """A share with its 95 % interval, the number of cases it is a share of, and what guessing gives.

    `low`, `high` and `p` come from one test (`figlang.statistics.clustered`), which takes the clusters as
    independent and not the cases. `p` is two-sided, against `chance`, since a share below chance is not
    guessing either. Both are None where guessing has no fixed rate, as for all orders of a question to be
    right. `clusters` is None in files of earlier versions.
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
        """Whether there are too few clusters for an interval to be trusted."""
        return self.clusters is not None and self.clusters < FEW


def by_group(predictions: Sequence[Prediction]) -> dict[str, list[Prediction]]:
    """Predictions with a known gold option, by group."""
    groups: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        if prediction.gold is not None:
            groups[prediction.group].append(prediction)
    return groups


def pairs(predictions: Sequence[Prediction]) -> list[list[Prediction]]:
    """Groups of two or more items with a known gold option that are got right together or not, see Item."""
    return [members for members in by_group(predictions).values() if len(members) > 1 and members[0].paired]


def accuracy(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of items whose choice is the gold option; None without any gold option."""
    return accuracies([predictions])[0]


def accuracies(several: Sequence[Sequence[Prediction]]) -> list[Estimate | None]:
    """The accuracy of each of several; their intervals are computed at once, which takes little more time
    than one."""
    groups = [by_group(predictions).values() for predictions in several]
    known = [[[bool(row.correct) for row in members] for members in each] for each in groups if each]
    chances = [
        float(np.mean([1 / len(row.scores) for members in each for row in members]))
        for each in groups
        if each
    ]
    found = iter(ratios([(list(map(sum, each)), list(map(len, each))) for each in known], chances))
    return [next(found) if each else None for each in groups]


def pair_accuracy(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of groups of two or more items whose items are all right (Liu et al. 2022, §5.1 and appendix D).

    None if there is no such group.
    """
    together = pairs(predictions)
    if not together:
        return None
    # A network that is blind to the order of the options guesses once for all orders of a question, another
    # one in each.
    several = any("order" in member.attributes for members in together for member in members)
    chance = (
        None
        if several
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
    """Share of Winograd pairs in which both metaphors get the same option; the rest flip or hold a tie."""
    twos = [members for members in pairs(predictions) if len(members) == 2]
    if not twos:
        return None
    same = [int(a.choice is not None and a.choice == b.choice) for a, b in twos]
    return ratio(same, [1] * len(twos))


def first_option(predictions: Sequence[Prediction]) -> Estimate | None:
    """Share of items whose choice is the first option, where items are asked in every order of their options.

    Those items say so by an attribute `order`; without a bias for a place it is 1 / the number of options.
    None without any.
    """
    groups = by_group([prediction for prediction in predictions if "order" in prediction.attributes]).values()
    if not groups:
        return None
    first = [sum(member.choice == 0 for member in members) for members in groups]
    return ratio(first, [len(members) for members in groups])


METRICS = {
    "accuracy": accuracy,
    "pair_accuracy": pair_accuracy,
    "consistency": consistency,
    "same_answer": same_answer,
    "first_option": first_option,
}


def measure(predictions: Sequence[Prediction]) -> dict[str, object]:
    """Every metric, overall and by attribute, as plain data; reproduces metrics.json from a predictions file
    alone."""
    overall = {
        name: asdict(value) for name, metric in METRICS.items() if (value := metric(predictions)) is not None
    }
    cells: dict[str, dict[str, list[Prediction]]] = defaultdict(lambda: defaultdict(list))
    for prediction in predictions:
        for attribute in prediction.attributes.keys() - QUANTITIES:
            for category in prediction.attributes[attribute]:
                cells[attribute][category].append(prediction)
    places = [(attribute, name) for attribute, values in sorted(cells.items()) for name in sorted(values)]
    attributes: dict[str, dict[str, object]] = {attribute: {} for attribute, _ in places}
    for (attribute, name), found in zip(
        places, accuracies([cells[one][other] for one, other in places]), strict=True
    ):
        if found:
            attributes[attribute][name] = asdict(found)
    ties = sum(prediction.choice is None for prediction in predictions)
    hidden = sum(prediction.gold is None for prediction in predictions)
    return {**overall, "items": len(predictions), "hidden": hidden, "ties": ties, "accuracy_by": attributes}


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (ddof 1) of a metric over seeds; a single one has no deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def ratio(
    hits: Sequence[float], sizes: Sequence[float], chance: float | None = None, support: Support = SHARE
) -> Estimate:
    """The ratio of sums over clusters, with its interval and its test against chance.

    Args:
        hits: What the cases of each cluster sum up to.
        sizes: How many cases each cluster has.
        chance: The value that is tested; None tests nothing.
        support: The least and the largest value of a case.
    """
    return ratios([(hits, sizes)], [chance], support)[0]


def ratios(
    cases: Sequence[tuple[Sequence[float], Sequence[float]]],
    chances: Sequence[float | None],
    support: Support = SHARE,
) -> list[Estimate]:
    """The same of several, each with its hits, sizes and chance."""
    if not cases:
        return []
    found = Ratios.stacked([Ratios.of(hits, sizes, support) for hits, sizes in cases])
    p_B = found.p(
        np.array(
            [value if chance is None else chance for chance, value in zip(chances, found.values, strict=True)]
        )
    )
    columns = zip(cases, chances, found.values, *found.intervals(), p_B, strict=True)
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
    """A metric of `measure`'s result, or None if it was not defined there."""
    found = metrics.get(name)
    return Estimate(**found) if isinstance(found, dict) else None
