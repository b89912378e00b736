"""The cells of a published table: what is said about questions that share their beginnings."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from figlang.runs import cells


def test_times_and_differences_of_sharing_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 12.0, 18.0])  # 2 seconds together, 6 one by one
    monkeypatch.setattr(cells.time, "perf_counter", lambda: next(times))
    asked: list[list[str]] = []
    alone = {"a": [-1.0, -2.0], "b": [-3.0], "c": [-4.0]}
    apart = {"a": [0.0, 0.25], "b": [-0.5], "c": [0.0]}  # how far scores together lie from those alone

    def score(questions: Sequence[str]) -> Any:
        asked.append(list(questions))
        shift = 1 if len(questions) == 3 else 0
        values = [torch.tensor(alone[one]) + shift * torch.tensor(apart[one]) for one in questions]
        return SimpleNamespace(log_probs=values)

    found = cells.one_by_one(score, [["a"], ["b", "c"]], questions=7)  # type: ignore[list-item, arg-type]
    assert found == {
        "questions": 7,
        "together_seconds": 2.0,
        "one_by_one_seconds": 6.0,
        "ratio": 3.0,
        "largest_difference": 0.5,
    }
    # The first part alone warms the network up, and is not timed.
    assert asked == [["a"], ["a", "b", "c"], ["a"], ["b", "c"]]
