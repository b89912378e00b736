"""Calibration: by hand and against torchmetrics."""

from math import log

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import binary_calibration_error

from figlang.statistics.calibration import calibration
from figlang.statistics.correlation import probability
from figlang.types import Prediction
from tests.statistics.rows import row


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


def test_the_error_is_that_of_each_bin_by_its_items() -> None:
    # Two items have the confidence 0.75, and one of them is right. Two have 0.9, and both are right.
    sure = [(True, log(3)), (False, log(3)), (True, log(9)), (True, log(9))]
    found = calibration([row(n, right, margin) for n, (right, margin) in enumerate(sure)], bins=2)
    assert found is not None
    assert found.ece == pytest.approx((2 * 0.25 + 2 * 0.1) / 4)


def test_bins_hold_equally_many_items() -> None:
    rows = [row(n, right=True, margin=n / 10) for n in range(1, 26)]
    found = calibration(rows)
    assert found is not None
    assert sorted({estimate.n for _, estimate in found.bins}) == [2, 3]


def test_without_labels_there_is_no_calibration() -> None:
    assert calibration([Prediction("a", "a", None, (1.0, 0.0))]) is None
    assert calibration([Prediction("a", "a", 0, (1.0, 1.0))]) is None
