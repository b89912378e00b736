"""Weighted sums of scores: what they are by hand, what changes nothing, and weights that are found."""

import random
from collections.abc import Sequence
from math import exp, log

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from figlang.statistics.combining import RIDGE, combined, fitted
from figlang.types import Prediction


def rows(*scores: Sequence[float], gold: Sequence[int | None] = ()) -> list[Prediction]:
    golds = gold or [0] * len(scores)
    return [
        Prediction(f"i{place}", f"i{place}", right, tuple(each))
        for place, (each, right) in enumerate(zip(scores, golds, strict=True))
    ]


def drawn(systems: int, items: int, seed: int = 0, options: int = 3) -> list[list[Prediction]]:
    draw = random.Random(seed)
    gold = [draw.randrange(options) for _ in range(items)]
    return [
        rows(
            *([draw.gauss(system * (place == right), 2) for place in range(options)] for right in gold),
            gold=gold,
        )
        for system in range(systems)
    ]


def log_loss(predictions: Sequence[Prediction]) -> float:
    losses = [
        log(sum(map(exp, row.scores))) - row.scores[row.gold] for row in predictions if row.gold is not None
    ]
    return sum(losses) / len(losses)


def test_probabilities_are_multiplied() -> None:
    one, other = rows((log(0.8), log(0.2))), rows((log(0.3), log(0.7)))
    (row,) = combined([one, other], [2.0, 0.5])
    products = [0.8**2 * 0.3**0.5, 0.2**2 * 0.7**0.5]
    assert [exp(score) for score in row.scores] == pytest.approx(products)


def test_one_system_is_itself() -> None:
    (system,) = drawn(1, 50)
    assert combined([system], [1.0]) == system


def test_the_order_of_systems_changes_not_a_bit() -> None:
    systems, weights = drawn(5, 40), [0.1, 0.7, 3.3, 1e-9, 0.2]
    for seed in range(5):
        order = random.Random(seed).sample(range(5), 5)
        again = combined([systems[place] for place in order], [weights[place] for place in order])
        assert again == combined(systems, weights)


@pytest.mark.parametrize("factor", [0.25, 7.0, 1000.0])
def test_choices_depend_on_the_ratios_of_weights_alone(factor: float) -> None:
    systems, weights = drawn(3, 200), [0.5, 0.3, 0.2]
    choices = [row.choice for row in combined(systems, weights)]
    assert [row.choice for row in combined(systems, [factor * weight for weight in weights])] == choices


def test_a_number_that_all_options_share_changes_no_choice_and_no_weight() -> None:
    systems = drawn(2, 100)
    moved = [
        [
            Prediction(row.id, row.group, row.gold, tuple(score + 5 * place for score in row.scores))
            for row in each
        ]
        for place, each in enumerate(systems)
    ]
    assert fitted(moved) == pytest.approx(fitted(systems), rel=1e-4)


def test_one_weight_is_the_best_temperature() -> None:
    _, system = drawn(2, 300)
    (weight,) = fitted([system])
    best = minimize_scalar(
        lambda factor: log_loss(combined([system], [factor])), bounds=(0, 5), method="bounded"
    )
    assert weight == pytest.approx(best.x, rel=0.02)


def test_no_other_weights_make_right_options_likelier() -> None:
    systems = drawn(3, 400)
    found = fitted(systems)
    best = log_loss(combined(systems, found))
    draw = np.random.default_rng(0)
    for _ in range(30):
        other = np.clip(np.array(found) + draw.normal(0, 0.1, 3), 0, None)
        assert log_loss(combined(systems, other.tolist())) > best - 20 * RIDGE
    assert best < min(log_loss(combined([each], fitted([each]))) for each in systems)


def test_a_system_that_knows_nothing_or_is_wrong_has_no_weight() -> None:
    _, good, better = drawn(3, 400)
    wrong = [Prediction(row.id, row.group, row.gold, tuple(-score for score in row.scores)) for row in good]
    weights = fitted([better, wrong])
    assert weights[1] == 0
    assert weights[0] > 0.1
    flat = [Prediction(row.id, row.group, row.gold, (1.0, 1.0, 1.0)) for row in good]
    assert fitted([good, flat])[0] == pytest.approx(fitted([good])[0], rel=1e-3)


def test_equal_systems_share_their_weight_and_sure_ones_have_a_finite_one() -> None:
    _, good = drawn(2, 200)
    one, other = fitted([good, good])
    assert one == pytest.approx(other, rel=1e-3)
    assert one + other == pytest.approx(fitted([good])[0], rel=0.01)
    sure = rows(*[(3.0, 0.0)] * 20)
    assert 0 < fitted([sure])[0] < 100


def test_items_of_unequal_width_and_without_labels() -> None:
    _, three = drawn(2, 100)
    _, two = drawn(2, 100, seed=1, options=2)
    hidden = [Prediction(row.id, row.group, None, row.scores) for row in two[:50]]
    assert fitted([[*three, *two, *hidden]]) == pytest.approx(fitted([[*three, *two]]))
    assert fitted([hidden, hidden]) == [0.0, 0.0]
