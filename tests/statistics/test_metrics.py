"""Laws of figlang/statistics/metrics.py, with numbers worked by hand."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from figlang.statistics import metrics
from figlang.statistics.metrics import (
    accuracy,
    consistency,
    first_option,
    measure,
    pair_accuracy,
    ratio,
    same_answer,
    spread,
)
from figlang.types import Prediction

Metric = Callable[[Sequence[Prediction]], metrics.Estimate]
RIGHT, WRONG, TIE = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)  # scores of two options of which the first is gold


def row(name: str, group: str, gold: int | None, *scores: float, **attributes: tuple[str, ...]) -> Prediction:
    return Prediction(name, group, gold, scores, attributes)


def pair(group: str, first: Sequence[float], second: Sequence[float]) -> list[Prediction]:
    """A Winograd pair: option 0 is gold for the first metaphor, option 1 for the second."""
    return [
        row(f"{group}1", group, 0, *first, order=("right first",)),
        row(f"{group}2", group, 1, *second, order=("wrong first",)),
    ]


# Option chosen, by pair (gold is 0 then 1), and a single item:
#   a: 0 1  both right, flips        b: 0 0  one right, same answer
#   c: 1 0  both wrong, flips        d: 0 -  one right, a tie
#   s: 0    right, no partner
# Right: 2 + 1 + 0 + 1 + 1 = 5 of 9 items. Pairs right: a, 1 of 4. Flips: a and c, 2 of 4. Same answer: b, 1
# of 4. First option: 1 + 2 + 1 + 1 = 5 of the 7 choices of items that were asked in both orders.
WORKED = [
    *pair("a", RIGHT, WRONG),
    *pair("b", RIGHT, RIGHT),
    *pair("c", WRONG, RIGHT),
    *pair("d", RIGHT, TIE),
    row("s", "s", 0, 1, 0),
]


@pytest.mark.parametrize(
    ("metric", "value", "n"),
    [
        (accuracy, 5 / 9, 9),
        (pair_accuracy, 1 / 4, 4),
        (consistency, 2 / 4, 4),
        (same_answer, 1 / 4, 4),
        (first_option, 5 / 7, 7),
    ],
)
def test_worked_by_hand(metric: Metric, value: float, n: int) -> None:
    estimate = metric(WORKED)
    assert (estimate.value, estimate.n) == (value, n)


@pytest.mark.parametrize("name", metrics.METRICS)
def test_the_order_of_the_rows_changes_no_value(name: str) -> None:
    metric = metrics.METRICS[name]
    shuffled = [WORKED[index] for index in np.random.default_rng(0).permutation(len(WORKED))]
    assert metric(shuffled).value == metric(WORKED).value


def test_an_attribute_of_ones_own_called_order_is_not_an_order_of_options() -> None:
    own = [replace(one, attributes={"order": ("verb first",), "letter": ("long",)}) for one in WORKED]
    assert first_option(own) is None
    assert pair_accuracy(own).chance == 1 / 4


def test_letters_in_every_order_have_no_fixed_chance_to_be_all_right() -> None:
    asked = [replace(one, attributes={"letter": ("AB"[one.gold],)}) for one in WORKED]
    assert pair_accuracy(asked).chance is None
    assert first_option(asked).n == 8


def test_orders_of_one_question_are_one_cluster_with_a_p_of_its_own() -> None:
    rows = [
        one
        for group in "abcdefghijkl"
        for one in pair(group, RIGHT, WRONG if group in "abcdefghi" else RIGHT)
    ]
    alone = [replace(prediction, group=prediction.id) for prediction in rows]
    # Twelve clusters say less than twenty-four items would.
    assert 0 < accuracy(alone).p < accuracy(rows).p < 0.05  # type: ignore[operator]
    assert (accuracy(rows).clusters, accuracy(alone).clusters) == (12, 24)


@pytest.mark.parametrize("name", metrics.METRICS)
def test_a_metric_of_no_prediction_is_none(name: str) -> None:
    assert metrics.METRICS[name]([]) is None


@pytest.mark.parametrize("name", metrics.METRICS)
def test_a_metric_of_hidden_labels_is_none(name: str) -> None:
    assert metrics.METRICS[name]([replace(prediction, gold=None) for prediction in WORKED]) is None


@pytest.mark.parametrize("metric", [pair_accuracy, consistency, same_answer])
def test_a_pair_metric_of_single_items_is_none(metric: Metric) -> None:
    assert metric([row("1", "1", 0, 1, 0), row("2", "2", 1, 1, 0)]) is None


def test_hidden_items_are_left_out_of_accuracy() -> None:
    estimate = accuracy([*WORKED, row("h", "h", None, 0, 1)])
    assert (estimate.value, estimate.n) == (5 / 9, 9)


def test_a_pair_with_one_hidden_label_is_no_pair() -> None:
    first, second = pair("e", RIGHT, WRONG)
    assert pair_accuracy([*WORKED, first, replace(second, gold=None)]).n == 4


def test_a_tie_is_wrong() -> None:
    assert accuracy([row("1", "1", 0, 0.5, 0.5), row("2", "2", 1, 0.5, 0.5)]).value == 0


def test_a_tie_neither_flips_nor_is_the_same_answer() -> None:
    tied = pair("t", TIE, TIE)
    assert (consistency(tied).value, same_answer(tied).value) == (0, 0)


def test_a_group_of_three_is_right_only_as_a_whole() -> None:
    three = [row(str(number), "g", 0, 1, 0) for number in range(3)]
    assert pair_accuracy(three).value == 1
    assert pair_accuracy([*three[:2], row("2", "g", 0, 0, 1)]).value == 0


def test_only_groups_of_two_flip() -> None:
    three = [row(f"g{number}", "g", 0, 1, 0) for number in range(3)]
    assert consistency([*WORKED, *three]).n == 4


def test_pair_accuracy_is_never_below_twice_accuracy_less_one() -> None:
    draw = np.random.default_rng(0)
    for _ in range(200):
        skill = draw.normal(0, 2)
        rows = []
        for group in range(draw.integers(1, 9)):
            # Rounded scores tie now and then.
            scores = np.round(draw.normal(0, 1, (2, 2)) + skill * np.eye(2))
            rows += pair(str(group), scores[0], scores[1])
        correct = accuracy(rows)
        assert pair_accuracy(rows).value >= 2 * correct.value - 1 - 1e-12


def test_the_bound_is_reached_where_no_pair_is_wholly_wrong() -> None:
    # 3 pairs, 4 of 6 items right: 2 · 4/6 − 1 = 1/3.
    rows = [*pair("a", RIGHT, WRONG), *pair("b", RIGHT, RIGHT), *pair("c", WRONG, WRONG)]
    assert pair_accuracy(rows).value == pytest.approx(2 * accuracy(rows).value - 1)


# Chance


@pytest.mark.parametrize(
    ("options", "chance"),
    [((2, 2), 1 / 2), ((4, 4), 1 / 4), ((2, 4), 3 / 8)],  # (1/2 + 1/4) / 2 = 3/8
)
def test_chance_is_the_mean_of_one_over_the_number_of_options(
    options: tuple[int, ...], chance: float
) -> None:
    rows = [row(str(index), str(index), 0, *range(count)) for index, count in enumerate(options)]
    assert accuracy(rows).chance == chance


@pytest.mark.parametrize(("options", "chance"), [(2, 1 / 4), (4, 1 / 16)])
def test_chance_of_a_pair_is_that_of_both_items(options: int, chance: float) -> None:
    assert pair_accuracy([row(str(index), "g", 0, *range(options)) for index in range(2)]).chance == chance


@pytest.mark.parametrize("metric", [consistency, same_answer])
def test_consistency_has_no_chance_and_no_p(metric: Metric) -> None:
    estimate = metric(WORKED)
    assert (estimate.chance, estimate.p) == (None, None)


@pytest.mark.parametrize(
    ("right", "n", "p"),
    [
        (8, 10, 2 * 56 / 1024),  # (45 + 10 + 1) / 2^10, on either side
        (10, 10, 2 / 1024),
        (0, 10, 2 / 1024),  # below chance is as far from guessing
        (5, 9, 1.0),
    ],
)
def test_p_of_independent_items_is_exact_and_two_sided(right: int, n: int, p: float) -> None:
    rows = [row(str(index), str(index), 0, *(RIGHT if index < right else WRONG)) for index in range(n)]
    assert accuracy(rows).p == pytest.approx(p, rel=1e-9)


def test_p_of_pair_accuracy_counts_pairs_against_a_quarter() -> None:
    # Of 4 pairs at most 1: (3/4)^4 + 4 · 1/4 · (3/4)^3 = 189/256; at least 1: 175/256. Twice the smaller is
    # above 1.
    paired = [replace(prediction, attributes={}) for prediction in WORKED]
    assert pair_accuracy(paired).p == 1


def test_all_orders_of_a_question_have_no_chance_and_no_p() -> None:
    # Two questions in two orders each: 1/16 for who guesses anew each time, 1/4 for who is blind to the
    # order.
    estimate = pair_accuracy([*pair("a", RIGHT, WRONG), *pair("a", RIGHT, WRONG)])
    assert (estimate.value, estimate.chance, estimate.p) == (1, None, None)


# Intervals


def test_dependent_items_have_a_wider_interval_than_independent_ones() -> None:
    # 50 groups of 4 items that are right or wrong together are 50 cases, not 200: the interval is √4 = 2
    # times as wide.
    right = np.random.default_rng(2).random(50) < 0.6
    one, naive = ratio((4 * right).tolist(), [4] * 50), ratio(np.repeat(right, 4).tolist(), [1] * 200)
    assert (one.high - one.low) / (naive.high - naive.low) == pytest.approx(2, rel=0.15)


def test_a_share_over_unequal_groups_is_of_items_not_of_groups() -> None:
    assert (
        accuracy([row("1", "a", 0, *RIGHT), *(row(f"b{index}", "b", 0, *WRONG) for index in range(3))]).value
        == 1 / 4
    )


@pytest.mark.parametrize(("clusters", "few"), [(9, True), (10, False)])
def test_fewer_than_ten_clusters_are_said_to_be_few(clusters: int, few: bool) -> None:
    assert ratio([1] * clusters, [2] * clusters).few is few


def test_an_estimate_of_an_earlier_version_can_be_read() -> None:
    old = metrics.as_row(
        {"accuracy": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 90, "chance": 0.5, "p": 0.5}}, "accuracy"
    )
    assert old is not None
    assert (old.clusters, old.few) == (None, False)


@pytest.mark.parametrize("name", metrics.METRICS)
def test_the_interval_holds_the_value(name: str) -> None:
    estimate = metrics.METRICS[name](WORKED)
    assert estimate.low <= estimate.value <= estimate.high


# All of them


def test_measure_counts_items_hidden_labels_and_ties() -> None:
    measured = measure([*WORKED, row("h", "h", None, 0, 1)])
    assert (measured["items"], measured["hidden"], measured["ties"]) == (10, 1, 1)


def test_measure_holds_every_metric_with_its_n() -> None:
    measured = measure(WORKED)
    assert {name: measured[name]["n"] for name in metrics.METRICS} == {
        "accuracy": 9,
        "pair_accuracy": 4,
        "consistency": 4,
        "same_answer": 4,
        "first_option": 7,
    }


def test_measure_of_hidden_labels_has_counts_alone() -> None:
    measured = measure([row("1", "1", None, 0, 1)])
    assert measured == {"items": 1, "hidden": 1, "ties": 0, "accuracy_by": {}}


def test_an_item_counts_in_every_category_it_is_in() -> None:
    rows = [
        row("1", "1", 0, *RIGHT, commonsense=("objects", "visual")),
        row("2", "2", 0, *WRONG, commonsense=("objects",)),
        row("3", "3", 0, *WRONG),
    ]
    cells = measure(rows)["accuracy_by"]["commonsense"]
    assert {name: (cell["value"], cell["n"]) for name, cell in cells.items()} == {
        "objects": (0.5, 2),
        "visual": (1, 1),
    }


def test_a_category_that_tells_the_right_option_has_no_chance() -> None:
    """A system that always says the first class has all items of it right."""
    rows = [
        replace(
            row(str(n), str(n), n % 2, *RIGHT), attributes={"class": (str(n % 2),), "genre": (str(n < 20),)}
        )
        for n in range(40)
    ]
    by = measure(rows)["accuracy_by"]
    assert {name: (cell["value"], cell["chance"], cell["p"]) for name, cell in by["class"].items()} == {
        "0": (1.0, None, None),
        "1": (0.0, None, None),
    }
    assert {cell["chance"] for cell in by["genre"].values()} == {0.5}


def test_a_category_whose_labels_are_hidden_has_no_accuracy() -> None:
    measured = measure(
        [row("1", "1", 0, *RIGHT, genre=("NEWS",)), row("2", "2", None, *RIGHT, genre=("FICTION",))]
    )
    assert list(measured["accuracy_by"]["genre"]) == ["NEWS"]


@pytest.mark.parametrize(("value", "known"), [("high", ["high"]), ("0.7", None), ("nan", ["nan"])])
def test_a_quantity_is_a_category_only_if_it_holds_words(value: str, known: list[str] | None) -> None:
    by = measure([row("1", "1", 0, *RIGHT, novelty=(value,))])["accuracy_by"]
    assert (list(by["novelty"]) if "novelty" in by else None) == known


def test_measure_survives_json() -> None:
    measured = measure(WORKED)
    assert json.loads(json.dumps(measured)) == measured


def test_a_metric_comes_back_from_plain_data() -> None:
    assert metrics.as_row(json.loads(json.dumps(measure(WORKED))), "accuracy") == accuracy(WORKED)


def test_a_metric_that_was_not_defined_comes_back_as_none() -> None:
    assert metrics.as_row(measure([row("1", "1", 0, *RIGHT)]), "pair_accuracy") is None


def test_spread_is_mean_and_sample_standard_deviation() -> None:
    # Deviations −0.1, 0, 0.1: squares sum to 0.02, over n − 1 = 2 is 0.01, whose root is 0.1.
    assert spread([0.6, 0.7, 0.8]) == pytest.approx((0.7, 0.1))


def test_one_run_has_no_spread() -> None:
    assert spread([0.6]) == (0.6, None)
