"""Analyses of predictions: by hand, against scipy and against torchmetrics."""

from collections import Counter
from math import exp, log

import numpy as np
import pytest
import torch
from scipy.stats import bootstrap, pearsonr, pointbiserialr, spearmanr
from torchmetrics.functional.classification import binary_calibration_error

from figlang.reports.plots import USUAL, limits
from figlang.statistics.breakdown import by_attribute, quarters
from figlang.statistics.calibration import calibration
from figlang.statistics.correlation import pearson, probability, spearman
from figlang.statistics.reliance import ANSWER, LENGTH, alone, factors, reliance
from figlang.types import Item, Prediction


def row(number: int, right: bool, margin: float = 1.0, gold: int = 0) -> Prediction:
    ahead = gold if right else 1 - gold
    scores = [0.0, 0.0]
    scores[ahead] = margin
    return Prediction(f"i{number}", f"g{number // 2}", gold, tuple(scores))


ROWS = [row(number, right=number % 4 != 0) for number in range(40)]


# Accuracy by attribute


def test_a_value_has_its_own_accuracy_and_n() -> None:
    values = {f"i{number}": ("NEWS",) if number < 20 else ("FICTION",) for number in range(40)}
    cells = by_attribute([ROWS], values)
    assert [(cell.value, cell.estimate.n, cell.estimate.value) for cell in cells] == [
        ("FICTION", 20, 0.75),
        ("NEWS", 20, 0.75),
    ]
    assert all(cell.estimate.low <= 0.75 <= cell.estimate.high for cell in cells)


def test_rare_values_are_one_cell_and_an_item_counts_once_in_it() -> None:
    values = {f"i{number}": ("frequent",) for number in range(30)}
    values |= {f"i{number}": ("rare", "also rare") for number in range(30, 34)}
    cells = by_attribute([ROWS], values)
    assert [(cell.value, cell.estimate.n, cell.merged) for cell in cells] == [
        ("frequent", 30, 0),
        ("2 rare values", 4, 2),
    ]


def test_a_single_rare_value_keeps_its_name() -> None:
    cells = by_attribute([ROWS], {f"i{number}": ("frequent" if number else "odd",) for number in range(40)})
    assert [(cell.value, cell.estimate.n) for cell in cells] == [("frequent", 39), ("odd", 1)]


def test_an_interval_of_few_pairs_is_marked() -> None:
    values = {f"i{number}": ("many",) for number in range(40)} | {
        f"i{number}": ("many", "few") for number in range(18)
    }
    assert [
        (cell.value, cell.estimate.clusters, cell.estimate.few) for cell in by_attribute([ROWS], values)
    ] == [
        ("many", 20, False),
        ("few", 9, True),
    ]


def test_a_number_is_broken_down_by_quarters() -> None:
    found = quarters({f"i{number}": (f"{number / 100}",) for number in range(41)} | {"none": ()})
    counts = Counter(value for (value,) in found.values())
    assert counts == {"0.000 – 0.100": 11, "0.100 – 0.200": 10, "0.200 – 0.300": 10, "0.300 – 0.400": 10}
    assert found["i0"] == found["i10"]
    assert quarters({"x": ()}) == {}


def test_hidden_labels_are_not_counted() -> None:
    hidden = [Prediction("h", "h", None, (1.0, 0.0))]
    assert (
        by_attribute([[*ROWS[:12], *hidden]], {**{r.id: ("x",) for r in ROWS[:12]}, "h": ("x",)})[
            0
        ].estimate.n
        == 12
    )


def test_seeds_are_averaged() -> None:
    other = [row(number, right=False) for number in range(40)]
    assert by_attribute([ROWS, other], {r.id: ("x",) for r in ROWS})[0].estimate.value == pytest.approx(0.375)


# Correlations


def test_probability_is_the_softmax_of_scores_however_far_they_are() -> None:
    assert probability(Prediction("a", "a", 0, (log(3), 0.0)), 0) == pytest.approx(0.75)
    assert probability(Prediction("a", "a", 0, (-5000.0, -6000.0)), 0) == 1


def test_point_biserial_is_that_of_scipy() -> None:
    draw = np.random.default_rng(1)
    right, x = draw.integers(0, 2, 60), draw.normal(size=60)
    found = pearson(list(x), [float(one) for one in right], [str(place // 2) for place in range(60)])
    theirs = pointbiserialr(right, x)
    assert found is not None
    assert found.r == pytest.approx(theirs.statistic)
    assert found.low < found.r < found.high
    assert (found.low <= 0 <= found.high) == (found.p >= 0.05)


def test_the_interval_of_independent_cases_is_that_of_scipys_bootstrap() -> None:
    draw = np.random.default_rng(7)
    x = draw.normal(size=120)
    y = 0.5 * x + draw.normal(size=120)
    found = pearson(list(x), list(y), [str(place) for place in range(120)])
    rng = np.random.default_rng(8)
    theirs = bootstrap(
        (x, y),
        lambda a, b, axis: pearsonr(a, b, axis=axis).statistic,
        paired=True,
        method="percentile",
        rng=rng,
    )
    assert found is not None
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.015)


def test_the_interval_of_repeated_cases_is_that_of_their_groups() -> None:
    draw = np.random.default_rng(2)
    x = draw.normal(size=50)
    y = x + draw.normal(size=50)
    once = pearson(list(x), list(y), [str(place) for place in range(50)])
    thrice = pearson(list(np.repeat(x, 3)), list(np.repeat(y, 3)), [str(place // 3) for place in range(150)])
    assert once is not None
    assert thrice is not None
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high), abs=0.02)


def test_a_constant_has_no_correlation() -> None:
    assert pearson([1, 1, 1], [0, 1, 0], ["a", "b", "c"]) is None
    assert spearman([1, 1, 1, 1], [1, 2, 3, 4]) is None


def test_spearman_is_that_of_scipy_with_bonett_and_wrights_interval() -> None:
    draw = np.random.default_rng(3)
    x = draw.normal(size=100)
    y = x + draw.normal(size=100)
    found, theirs = spearman(list(x), list(y)), spearmanr(x, y)
    assert found is not None
    assert (found.r, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    # Worked by hand: atanh(r) ± 1.96 √((1 + r²/2) / (n − 3))
    reach = 1.959963984540054 * np.sqrt((1 + found.r**2 / 2) / 97)
    assert found.low == pytest.approx(np.tanh(np.arctanh(found.r) - reach))


# Reliance on the answer alone


def test_log_probabilities_of_answers_are_normalised_as_asked() -> None:
    rows = {"i0": {"answer_alone": [[-6.0, 3, 12], [-8.0, 2, 16]]}}
    assert alone(rows, "sum") == {"i0": [-6.0, -8.0]}
    assert alone(rows, "mean") == {"i0": [-2.0, -4.0]}
    assert alone(rows, "byte") == {"i0": [-0.5, -0.5]}
    assert alone({"i0": {"answers": []}}, "sum") == {}


def test_one_item_a_pair_is_a_point() -> None:
    rows = [Prediction(f"i{n}", f"g{n // 2}", n % 2, (float(n), 0.0)) for n in range(12)]
    answers = {f"i{n}": [float(n // 2), 0.0] for n in range(12)}
    found = reliance(rows, answers)
    assert len(found.points) == 6
    assert found.points[1] == (1.0, probability(rows[2], 0))
    assert found.correlation is not None
    assert found.correlation.r == 1  # both grow with n: choices follow the answer alone


def test_figure_3_has_the_papers_limits_unless_they_lose_points() -> None:
    assert limits(np.linspace(-1.5, 1.5, 1001)) == USUAL
    assert limits(np.linspace(-10, 10, 1001)) == (-10, 10)


def test_factors_have_the_true_and_the_continuous_correlation() -> None:
    rows = [row(number, right=number % 3 != 0, margin=1 + number / 10) for number in range(30)]
    items = {
        r.id: Item(r.id, r.group, "word " * (1 + number % 7), ("a", "b"), 0) for number, r in enumerate(rows)
    }
    answers = {r.id: [-float(1 + number % 5), -2.0] for number, r in enumerate(rows)}
    found = factors(rows, items, answers)
    lengths = [1 + number % 7 for number in range(30)]
    right = [float(bool(r.correct)) for r in rows]
    n, true, continuous = found[LENGTH]
    assert n == 30
    assert true is not None
    assert continuous is not None
    assert true.r == pytest.approx(pointbiserialr(right, lengths).statistic)
    assert continuous.r == pytest.approx(np.corrcoef(lengths, [probability(r, 0) for r in rows])[0, 1])
    likely = [exp(-(1 + number % 5)) for number in range(30)]
    assert found[ANSWER][1].r == pytest.approx(pointbiserialr(right, likely).statistic)  # type: ignore[union-attr]


# Calibration


def test_calibration_by_hand() -> None:
    # Confidence 0.75 four times, right three times: calibrated. Brier 2/4·..: right (0.25² + 0.25²), wrong
    # (0.75² + 0.75²).
    rows = [row(number, right=number != 3, margin=log(3)) for number in range(4)]
    found = calibration(rows, bins=1)
    assert found is not None
    assert found.ece == pytest.approx(0)
    assert found.brier == pytest.approx((3 * 2 * 0.25**2 + 2 * 0.75**2) / 4)
    assert found.log_loss == pytest.approx(-(3 * log(0.75) + log(0.25)) / 4)
    assert found.bins[0][1].n == 4


def test_one_bin_has_the_calibration_error_of_torchmetrics() -> None:
    draw = np.random.default_rng(4)
    rows = [row(n, right=bool(draw.random() < 0.6), margin=float(draw.random() * 3)) for n in range(50)]
    found = calibration(rows, bins=1)
    confidence = torch.tensor([probability(r, r.choice) for r in rows])  # type: ignore[arg-type]
    # All confidences are in the upper half: two bins of torchmetrics are one of ours.
    theirs = binary_calibration_error(
        confidence, torch.tensor([int(bool(r.correct)) for r in rows]), n_bins=2
    )
    assert found is not None
    assert found.ece == pytest.approx(float(theirs), abs=1e-6)


def test_bins_hold_equally_many_items() -> None:
    rows = [row(n, right=True, margin=n / 10) for n in range(1, 26)]
    found = calibration(rows)
    assert found is not None
    assert sorted({estimate.n for _, estimate in found.bins}) == [2, 3]


def test_without_labels_there_is_no_calibration() -> None:
    assert calibration([Prediction("a", "a", None, (1.0, 0.0))]) is None
    assert calibration([Prediction("a", "a", 0, (1.0, 1.0))]) is None


def test_letters_of_replies_have_no_probabilities() -> None:
    # softmax((1, 0)) is 0.731, which no system said.
    rows = [Prediction(f"i{n}", f"g{n // 2}", n % 2, (1.0, 0.0) if n % 3 else (0.0, 0.0)) for n in range(12)]
    assert calibration(rows) is None
    answers = {f"i{n}": [float(n % 5) - 6, -3.0] for n in range(12)}
    assert reliance(rows, answers).points == ()
    _, true, continuous = factors(rows, {}, answers)[ANSWER]
    assert true is not None
    assert continuous is None
