"""Reliance on the answer alone, and what goes with being right."""

from math import exp

import numpy as np
import pytest
from scipy.stats import pointbiserialr

from figlang.reports.plots import USUAL, limits
from figlang.statistics.calibration import calibration
from figlang.statistics.correlation import probability
from figlang.statistics.reliance import ANSWER, LENGTH, alone, factors, reliance
from figlang.types import Item, Prediction
from tests.statistics.rows import row


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


def test_letters_of_replies_have_no_probabilities() -> None:
    # softmax((1, 0)) is 0.731, which no system said.
    rows = [Prediction(f"i{n}", f"g{n // 2}", n % 2, (1.0, 0.0) if n % 3 else (0.0, 0.0)) for n in range(12)]
    assert calibration(rows) is None
    answers = {f"i{n}": [float(n % 5) - 6, -3.0] for n in range(12)}
    assert reliance(rows, answers).points == ()
    _, true, continuous = factors(rows, {}, answers)[ANSWER]
    assert true is not None
    assert continuous is None
