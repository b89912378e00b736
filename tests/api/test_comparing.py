"""Comparisons from Python are those of the command."""

from pathlib import Path

import pytest

import figlang
from figlang.api import comparing
from figlang.errors import FiglangError
from figlang.reports import differences, parts
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


def test_tables_of_a_comparison_say_the_items_units_and_intervals(tmp_path: Path) -> None:
    items = figlang.load("figqa_sample")[:6]
    model = figlang.open_model("minilm", init="tiny")
    found = figlang.compare(model.predict(items, name="a"), model.predict(items, name="b"))
    found.write(tmp_path / "tables")
    for name, title in (("systems", "Systems"), ("comparison", "Every two systems")):
        latex = (tmp_path / "tables" / f"{name}.tex").read_text()
        assert rf"\caption{{{title} on Fig-QA sample, dev, 6 items}}" in latex
        assert "interval" in latex.lower()
        assert "pairs (clusters" in latex
    assert (
        "Accuracies are in \\%, the gain over blind in points."
        in (tmp_path / "tables/systems.tex").read_text()
    )
    assert all(line in found.lines() for line in found.ranking.notes), "the terminal says it too"


def test_other_items_are_not_compared() -> None:
    with pytest.raises(FiglangError):
        figlang.compare(
            predictions(2, "a"), figlang.Predictions.from_list([{"id": "z", "scores": [1, 2], "gold": 0}])
        )
    with pytest.raises(FiglangError, match="predictions or the path of a run are wanted, not dict"):
        figlang.compare(predictions(2, "a"), {})  # type: ignore[arg-type]


def test_many_pairs_are_said_before_they_are_compared(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    paths = [str(predictions(wrong, f"every {wrong}").save(tmp_path)) for wrong in (2, 3, 4)]
    monkeypatch.setattr(parts, "every_pair", lambda *_: pytest.fail(f"begins after {caplog.messages}"))
    monkeypatch.setattr(parts, "MANY", 3)
    line = "3 systems are 3 pairs, each with a test of its own: about 1 s at a millisecond each"
    with caplog.at_level("INFO", "figlang"):
        with pytest.raises(pytest.fail.Exception, match=line):
            comparing.of_paths(paths)
        caplog.clear()
        monkeypatch.setattr(parts, "MANY", 4)
        with pytest.raises(pytest.fail.Exception, match=r"begins after \[\]"):
            comparing.of_paths(paths)
