"""Comparisons from Python are those of the command."""

from pathlib import Path

import pytest

import figlang
from figlang.errors import FiglangError
from figlang.reports import differences
from figlang.runs import systems
from figlang.statistics.comparison import every_pair
from tests.api.rows import predictions


def test_a_comparison_is_that_of_the_command(tmp_path: Path) -> None:
    a, b, c = (predictions(wrong, f"every {wrong}") for wrong in (2, 3, 4))
    paths = [str(each.save(tmp_path / "systems")) for each in (a, b, c)]
    found = figlang.compare(a, b, c)
    read = systems.read(paths)
    theirs = every_pair([[system.predictions] for system in read])
    assert list(found.pairs) == theirs
    assert found.ids == tuple(a.ids)
    assert figlang.compare(*paths).pairs == found.pairs
    assert found.table.rows == differences.table(systems.pooled(read), theirs).rows
    with pytest.raises(FiglangError, match="3 systems are compared"):
        _ = found.difference
    two = figlang.compare(a, b)
    assert two.difference.value == pytest.approx(4 / 6 - 3 / 6)
    assert two.difference.low <= two.difference.value <= two.difference.high
    assert two.pair_difference is not None
    frame = found.to_pandas()
    assert list(frame["p_holm"]) == [one.items_holm for one in theirs]
    written = found.write(tmp_path / "tables")
    assert {"systems.tex", "comparison.csv"} <= {path.name for path in written.iterdir()}


def test_other_items_are_not_compared() -> None:
    with pytest.raises(FiglangError):
        figlang.compare(
            predictions(2, "a"), figlang.Predictions.from_list([{"id": "z", "scores": [1, 2], "gold": 0}])
        )
    with pytest.raises(FiglangError, match="predictions or the path of a run are wanted, not dict"):
        figlang.compare(predictions(2, "a"), {})  # type: ignore[arg-type]
