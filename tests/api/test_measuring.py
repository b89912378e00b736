"""Metrics from Python."""

from pathlib import Path
from unittest.mock import patch

import pytest

import figlang
from figlang.errors import FiglangError
from figlang.reports.terminal import TITLES
from figlang.statistics.metrics import METRICS, ratio
from figlang.types import Prediction
from tests.api.rows import predictions


def test_metrics_carry_interval_blind_accuracy_and_categories() -> None:
    items = figlang.load("figqa_sample", limit=20)
    found = figlang.open_model("minilm", init="tiny").predict(items)
    metrics = figlang.measure(found)
    assert metrics.accuracy is not None
    assert metrics.accuracy.low <= metrics.accuracy.value <= metrics.accuracy.high
    assert metrics.accuracy.value == sum(row.correct is True for row in found) / len(found)
    assert metrics.blind is not None
    assert metrics.gain is not None
    assert found.blind is not None
    assert metrics.blind.value == sum(row.correct is True for row in found.blind) / len(found)
    assert metrics.pair_accuracy is not None
    assert metrics.pair_accuracy.n == 10
    assert set(metrics.by("commonsense")) <= {"cultural", "objects", "visual", "social"}
    assert metrics.by("no_such") == {}
    frame = metrics.to_pandas().set_index("metric")
    assert frame.loc["accuracy", "value"] == metrics.accuracy.value
    assert frame.loc["blind accuracy", "low"] == metrics.blind.low
    unseen = figlang.open_model("minilm", init="tiny").predict(items, blind=False)
    assert unseen.blind is None
    assert figlang.measure(unseen).blind is None


def test_measure_takes_rows_too() -> None:
    rows = [Prediction("a", "a", 0, (1.0, 0.0)), Prediction("b", "b", 0, (0.0, 1.0))]
    accuracy = figlang.measure(rows).accuracy
    assert accuracy is not None
    assert accuracy.value == 0.5
    assert figlang.measure([Prediction("a", "a", None, (1.0, 0.0))]).accuracy is None


def test_several_systems_and_other_things_are_refused() -> None:
    one = predictions(2, "one")
    for wrong in ([one, one], 3, [3]):
        with pytest.raises(FiglangError, match="takes the predictions of one system"):
            figlang.measure(wrong)  # type: ignore[arg-type]


def test_a_new_metric_with_a_title_is_shown_everywhere(tmp_path: Path) -> None:
    with (
        patch.dict(METRICS, new=lambda rows: ratio([1] * len(rows), [1] * len(rows))),
        patch.dict(TITLES, new="a new share"),
    ):
        metrics = figlang.measure(predictions(2, "one"))
        assert metrics.to_dict()["a new share"]["value"] == 1
        assert "a new share" in repr(metrics)
        figlang.report(predictions(2, "one"), tmp_path / "report")
    assert "a new share" in (tmp_path / "report" / "tables" / "summary.csv").read_text(encoding="utf-8")


def test_every_title_is_that_of_a_metric() -> None:
    assert list(TITLES) == [name for name in METRICS if name != "consistency"]
