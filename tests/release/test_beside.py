"""What a card says about a checkpoint beside its base."""

from dataclasses import asdict
from typing import Any

from figlang.release import beside
from figlang.statistics.comparison import Difference


def row(name: str, value: float, low: float, high: float, p: float) -> dict[str, Any]:
    numbers = {"accuracy": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 100, "chance": 0.5, "p": 1.0}}
    difference = asdict(Difference(value, low, high, p, 100))
    return {
        "data_name": name,
        "scoring": "pmi",
        **numbers,
        "base": numbers,
        "difference": difference,
    }


def test_a_loss_is_named_only_if_it_is_found_among_all_tests() -> None:
    """One p of .03 among three tests is not a finding, though its interval excludes 0."""
    rows = [
        row("a", 0.3, 0.2, 0.4, 1e-9),
        row("b", -0.05, -0.1, -0.004, 0.03),
        row("c", 0.01, -0.1, 0.1, 0.8),
    ]
    text = beside.section(rows)
    assert "Won in accuracy: a +30.0 (+20.0 – +40.0). Lost in accuracy: nothing that its test" in text
    assert "if its p is below 0.05 after Holm's correction for 3 tests. Intervals are not corrected." in text
    alone = beside.section(rows[1:2])
    assert "Lost in accuracy: b -5.0" in alone
    assert "Holm" not in alone


def test_without_evaluations_there_is_no_section() -> None:
    assert beside.section([]) == ""
