"""Numbers from predictions: pure functions of the rows of a predictions file."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from figlang.types import QUANTITIES, Prediction

Array = npt.NDArray[np.float64]

RESAMPLES = 10_000
CHUNK = 2_000_000  # weights drawn at a time: bounds the bootstrap's memory to some 16 MB


@dataclass(frozen=True)
class Estimate:
    """A share with its 95 % interval, the number of cases it is a share of, and what guessing gives.

    `low` and `high` come from a percentile bootstrap that resamples groups. `chance` and `p` (one-sided exact binomial
    against chance, cases taken as independent) are None where guessing has no fixed rate, as for all orders of a question to be
    right; `p` also where cases are the same question in several orders of its options.
    """

    value: float
    low: float
    high: float
    n: int
    chance: float | None = None
    p: float | None = None


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


def accuracy(predictions: Sequence[Prediction], seed: int = 0) -> Estimate | None:
    """Share of items whose choice is the gold option; None without any gold option."""
    groups = by_group(predictions)
    scored = [prediction for members in groups.values() for prediction in members]
    if not scored:
        return None
    chance = float(np.mean([1 / len(prediction.scores) for prediction in scored]))
    right = [sum(bool(prediction.correct) for prediction in members) for members in groups.values()]
    # A question in another order of its options is no independent case.
    independent = not any("order" in prediction.attributes for prediction in scored)
    return _estimate(right, [len(members) for members in groups.values()], seed, chance, independent)


def pair_accuracy(predictions: Sequence[Prediction], seed: int = 0) -> Estimate | None:
    """Share of groups of two or more items whose items are all right (Liu et al. 2022, §5.1 and appendix D).

    None if there is no such group.
    """
    together = pairs(predictions)
    if not together:
        return None
    # A network that is blind to the order of the options guesses once for all orders of a question, another one in each.
    several = any("order" in member.attributes for members in together for member in members)
    chance = None if several else float(np.mean([np.prod([1 / len(member.scores) for member in members]) for members in together]))
    return _estimate([int(all(member.correct for member in members)) for members in together], [1] * len(together), seed, chance)


def consistency(predictions: Sequence[Prediction], seed: int = 0) -> Estimate | None:
    """Share of Winograd pairs in which the choice flips when the metaphor flips, right or wrong."""
    twos = [members for members in pairs(predictions) if len(members) == 2]
    if not twos:
        return None
    flipped = [int(None not in (a.choice, b.choice) and a.choice != b.choice) for a, b in twos]
    return _estimate(flipped, [1] * len(twos), seed)


def same_answer(predictions: Sequence[Prediction], seed: int = 0) -> Estimate | None:
    """Share of Winograd pairs in which both metaphors get the same option; the rest flip or hold a tie."""
    twos = [members for members in pairs(predictions) if len(members) == 2]
    if not twos:
        return None
    same = [int(a.choice is not None and a.choice == b.choice) for a, b in twos]
    return _estimate(same, [1] * len(twos), seed)


def first_option(predictions: Sequence[Prediction], seed: int = 0) -> Estimate | None:
    """Share of items whose choice is the first option, where items are asked in every order of their options.

    Those items say so by an attribute `order`; without a bias for a place it is 1 / the number of options. None without any.
    """
    groups = by_group([prediction for prediction in predictions if "order" in prediction.attributes]).values()
    if not groups:
        return None
    first = [sum(member.choice == 0 for member in members) for members in groups]
    return _estimate(first, [len(members) for members in groups], seed)


METRICS = {
    "accuracy": accuracy,
    "pair_accuracy": pair_accuracy,
    "consistency": consistency,
    "same_answer": same_answer,
    "first_option": first_option,
}


def measure(predictions: Sequence[Prediction], seed: int = 0) -> dict[str, object]:
    """Every metric, overall and by attribute, as plain data; reproduces metrics.json from a predictions file alone."""
    overall = {name: asdict(value) for name, metric in METRICS.items() if (value := metric(predictions, seed)) is not None}
    cells: dict[str, dict[str, list[Prediction]]] = defaultdict(lambda: defaultdict(list))
    for prediction in predictions:
        for attribute in prediction.attributes.keys() - QUANTITIES:
            for category in prediction.attributes[attribute]:
                cells[attribute][category].append(prediction)
    attributes = {
        attribute: {name: asdict(found) for name, members in sorted(values.items()) if (found := accuracy(members, seed))}
        for attribute, values in sorted(cells.items())
    }
    ties = sum(prediction.choice is None for prediction in predictions)
    hidden = sum(prediction.gold is None for prediction in predictions)
    return {**overall, "items": len(predictions), "hidden": hidden, "ties": ties, "accuracy_by": attributes}


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (ddof 1) of a metric over seeds; a single one has no deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def _estimate(
    hits: Sequence[int], sizes: Sequence[int], seed: int, chance: float | None = None, independent: bool = True
) -> Estimate:
    low, high = clustered_interval(hits, sizes, seed)
    total, n = sum(hits), sum(sizes)
    p = None if chance is None or not independent else float(binomtest(total, n, chance, alternative="greater").pvalue)
    return Estimate(total / n, low, high, n, chance, p)


def clustered_interval(hits: Sequence[float], sizes: Sequence[int], seed: int) -> tuple[float, float]:
    """95 % percentile interval of sum(hits) / sum(sizes) over resampled groups, see `resampled`."""
    low, high = np.quantile(resampled(np.asarray(hits, float)[:, None], np.asarray(sizes, float)[:, None], seed), (0.025, 0.975))
    return float(low), float(high)


def resampled(hits_GK: Array, sizes_GK: Array, seed: int) -> Array:
    """Sums of hits over sums of sizes, (R, K), of R resamples of G groups: a clustered bootstrap of K ratios at once.

    Items of one group depend on each other, so groups and not items are drawn with replacement. nan where a resample has no size.
    """
    sums_RK = resampled_sums(np.concatenate([hits_GK, sizes_GK], axis=1), seed)
    hits_RK, sizes_RK = np.split(sums_RK, 2, axis=1)
    # A resample may hold no item of a rare class.
    with np.errstate(divide="ignore", invalid="ignore"):
        shares_RK: Array = hits_RK / sizes_RK
    return shares_RK


def resampled_sums(values_GK: Array, seed: int) -> Array:
    """Sums (R, K) of the rows of as many groups as there are, drawn with replacement.

    Groups with equal rows are drawn together, which changes no distribution: pairs with 0, 1 or 2 items right are three numbers to
    draw a resample, however many pairs there are.
    """
    kinds_UK, counts_U = np.unique(values_GK, axis=0, return_counts=True)
    draw, groups = np.random.default_rng(seed), len(values_GK)
    sums = []
    left = RESAMPLES
    while left:
        rows = min(left, max(1, CHUNK // len(counts_U)))
        sums.append(draw.multinomial(groups, counts_U / groups, size=rows).astype(float) @ kinds_UK)
        left -= rows
    return np.concatenate(sums)


def as_row(metrics: Mapping[str, object], name: str) -> Estimate | None:
    """A metric of `measure`'s result, or None if it was not defined there."""
    found = metrics.get(name)
    return Estimate(**found) if isinstance(found, dict) else None
