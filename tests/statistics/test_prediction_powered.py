"""Prediction-powered inference: by hand, its laws, and how often its intervals hold the truth."""

from itertools import product
from math import isnan, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

from figlang.statistics.prediction_powered import Corrected, corrected, worth
from tests.sampled import sampled

Array = NDArray[np.float64]
NAN = float("nan")


def singles(count: int) -> list[str]:
    return [str(place) for place in range(count)]


def test_by_hand() -> None:
    """Four rated answers of six. Over the rated, the judge has mean .5 and variance .25, and covariance .125
    with people, so that the slope is .5. Over all, the judge has 4/6. So .75 + .5 * (4/6 - .5) = .8333."""
    people = np.array([1, 1, 1, 0, NAN, NAN])
    judge = np.array([1, 1, 0, 0, 1, 1.0])
    found = corrected(people, judge, singles(6))
    assert found is not None
    assert found.slope == pytest.approx(0.5)
    assert found.value == pytest.approx(0.75 + 0.5 * (4 / 6 - 0.5))
    # Influences of the rated: (residual - mean) / 4 + slope (judge - 4/6) / 6. Residuals are .5, .5, 1, 0.
    by_hand = [1 / 36, 1 / 36, 1 / 8 - 1 / 18, -1 / 8 - 1 / 18, 1 / 36, 1 / 36]
    # Two degrees of freedom: four groups, a mean and a slope.
    assert found.error == pytest.approx(sqrt(sum(one**2 for one in by_hand) * 4 / 2))
    assert (found.rated, found.answers, found.groups) == (4, 6, 4)


def test_it_is_the_formula_of_the_paper() -> None:
    """PPI++ weighs the judge's mean over the other answers by slope / (1 + n / N)."""
    rng = np.random.default_rng(3)
    truth = rng.random(60)
    judge = truth + rng.normal(0, 0.3, 60)
    people = np.where(np.arange(60) < 20, truth, NAN)
    found = corrected(people, judge, singles(60))
    assert found is not None
    weight = found.slope / (1 + 20 / 40)
    paper = weight * judge[20:].mean() + (truth[:20] - weight * judge[:20]).mean()
    assert found.value == pytest.approx(paper)


def test_a_perfect_judge_gives_the_share_of_people_with_nothing_to_correct() -> None:
    truth = np.resize(np.array([1.0, 0, 0, 1, 1]), 60)
    people = np.where(np.arange(60) % 3 == 0, truth, NAN)
    found = corrected(people, truth, singles(60))
    assert found is not None
    assert found.slope == pytest.approx(1)
    assert found.value == pytest.approx(truth.mean())
    assert found.low < truth.mean() < found.high  # it is not certain for answers that nobody rated
    # The judge's variance over 60 answers, by 20 groups less a mean and a slope, and half a difference of 20.
    assert found.error**2 == pytest.approx(truth.var() / 60 * 20 / 18 + 1 / (2 * 20**2))


def test_a_share_is_never_more_than_all() -> None:
    # The judge is steep where people rated, and larger elsewhere: the line leads to 2.05.
    people = np.concatenate([np.ones(9), [0.0], np.full(40, NAN)])
    judge = np.concatenate([np.full(9, 0.6), [0.3], np.ones(40)])
    for sign, end in ((1, 1.0), (-1, 0.0)):
        found = corrected(people if sign == 1 else 1 - people, judge, singles(50))
        assert found is not None
        assert found.value == end
        assert found.low - 1e-9 <= found.value <= found.high + 1e-9


def test_a_constant_judge_leaves_the_mean_of_people() -> None:
    people = np.array([1, 0, 1, 1, 0, NAN, NAN, NAN])
    found = corrected(people, np.full(8, 0.7), singles(8))
    alone = corrected(people, np.zeros(8), singles(8), slope=0)
    assert found == alone
    assert found is not None
    assert found.value == pytest.approx(0.6)
    assert found.error == pytest.approx(people[:5].std(ddof=1) / sqrt(5))


def test_a_judge_on_another_scale_corrects_the_same() -> None:
    rng = np.random.default_rng(0)
    judge = rng.random(40)
    people = np.where(np.arange(40) < 15, (judge + rng.normal(0, 0.2, 40) > 0.5).astype(float), NAN)
    one, other = corrected(people, judge, singles(40)), corrected(people, 7 - 3 * judge, singles(40))
    assert one is not None
    assert other is not None
    assert (one.value, one.error) == pytest.approx((other.value, other.error))


def test_ratings_of_all_leave_nothing_to_estimate_by_the_judge() -> None:
    people = np.array([1.0, 0, 1, 1, 0, 1])
    found = corrected(people, np.array([0.0, 1, 1, 0, 1, 0]), singles(6))
    assert found is not None
    assert found.value == pytest.approx(people.mean())
    assert found == corrected(people, np.zeros(6), singles(6), slope=0)


def test_the_order_of_answers_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    people = np.where(rng.random(30) < 0.5, rng.integers(0, 2, 30), NAN)
    judge, groups = rng.random(30), [f"g{place // 3}" for place in range(30)]
    order = rng.permutation(30)
    one = corrected(people, judge, groups)
    other = corrected(people[order], judge[order], [groups[place] for place in order])
    assert one is not None
    assert other is not None
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_copies_of_an_answer_in_its_group_make_nothing_surer() -> None:
    rng = np.random.default_rng(2)
    people = np.where(np.arange(40) < 20, rng.integers(0, 2, 40), NAN).astype(float)
    judge = np.where(np.isnan(people), 0.5, people) * 0.6 + rng.random(40)
    one = corrected(people, judge, singles(40))
    four = corrected(np.repeat(people, 4), np.repeat(judge, 4), np.repeat(singles(40), 4).tolist())
    assert one is not None
    assert four is not None
    assert (four.value, four.low, four.high) == pytest.approx((one.value, one.low, one.high))


def test_a_judge_without_an_answer_counts_as_its_mean() -> None:
    people, judge = np.array([1.0, 0, 1, 0, NAN, NAN]), np.array([0.9, 0.1, NAN, 0.3, 0.7, NAN])
    filled = np.where(np.isnan(judge), np.nanmean(judge), judge)
    assert corrected(people, judge, singles(6)) == corrected(people, filled, singles(6))
    assert corrected(people, np.full(6, NAN), singles(6)) == corrected(people, np.zeros(6), singles(6))


def test_too_few_groups_give_no_interval() -> None:
    people = np.array([1.0, 0, NAN, NAN])
    found = corrected(people, np.array([1.0, 0, 1, 0]), ["a", "a", "b", "c"])
    assert found is not None
    assert isnan(found.low)
    assert found.value == 0.5
    assert corrected(np.full(3, NAN), np.ones(3), singles(3)) is None


def test_people_of_one_mind_are_not_certain() -> None:
    found = corrected(np.array([1.0] * 10 + [NAN] * 30), np.ones(40), singles(40))
    assert found is not None
    assert found.value == 1
    # Wilson's lower end of 10 of 10, with the quantile of nine degrees of freedom.
    reach = float(student.isf(0.025, 9))
    assert found.low == pytest.approx(10 / (10 + reach**2))


def drawn(rng: np.random.Generator, share: float, good: float, size: int) -> tuple[Array, Array, list[str]]:
    """400 answers in groups of `size`: whether people find them right, and a judge who sees it so well."""
    common = np.repeat(rng.standard_normal(400 // size), size)
    hidden = 0.6 * common + 0.8 * rng.standard_normal(400)
    truth = (hidden < np.quantile(rng.standard_normal(100_000), share)).astype(float)
    judge = good * truth + rng.standard_normal(400) + 0.5 * common
    return truth, judge, [str(place // size) for place in range(400)]


@pytest.mark.parametrize(
    ("share", "good", "size"), sampled(product((0.5, 0.1), (0.0, 3.0), (1, 4)), (0.5, 0.0, 4), (0.1, 3.0, 1))
)
def test_the_interval_holds_the_truth_of_the_population(share: float, good: float, size: int) -> None:
    """Of 600 samples, each with 100 ratings by people. 0.95 less three standard errors is 0.923."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(600):
        truth, judge, groups = drawn(rng, share, good, size)
        people = np.where(rng.permutation(400) < 100, truth, NAN)
        found = corrected(people, judge, groups)
        assert found is not None
        held += found.low <= share <= found.high
    assert 0.923 <= held / 600 <= 0.99


def test_a_good_judge_is_worth_ratings_and_a_bad_one_none() -> None:
    def mean(good: float) -> float:
        rng, found = np.random.default_rng(5), []
        for _ in range(40):
            truth, judge, groups = drawn(rng, 0.5, good, 1)
            people = np.where(np.arange(400) < 100, truth, NAN)
            one, alone = corrected(people, judge, groups), corrected(people, judge, groups, slope=0)
            assert one is not None
            assert alone is not None
            found.append(worth(one, alone) or 0)
        return float(np.mean(found))

    assert mean(4.0) > 180
    assert 95 < mean(0.0) < 105
    nothing = Corrected(1, NAN, NAN, NAN, 0, 2, 4, 2)
    assert worth(nothing, nothing) is None
