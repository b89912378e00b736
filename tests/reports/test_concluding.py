"""What the terminal says at the end of a sweep."""

from dataclasses import replace
from pathlib import Path

import pytest

from figlang import tables
from figlang.errors import FiglangError
from figlang.reports import concluding, sweeping
from tests.reports.test_sweeping import SMALL, run


def test_a_run_that_repeats_another_is_named_and_not_counted_in_a_mean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        run(0, None, 0.6),
        run(1, None, 0.8),
        replace(run(0, None, 0.6), folder=Path("again")),
        run(0, None, 0.5, SMALL),
    ]
    monkeypatch.setattr(sweeping, "below", lambda places: (runs, 0))
    concluding.conclude([Path("runs")])
    shown = capsys.readouterr().out
    assert "3 runs" in shown
    assert "70.0 ± 14.1" in shown, "the mean of 0.6 and 0.8"
    assert "1 run, again" in shown


def test_the_folder_that_a_sweep_wrote_is_said_to_hold_its_table(tmp_path: Path) -> None:
    tables.write([sweeping.table([run(0, None, 0.6), run(0, None, 0.5, SMALL)])], tmp_path)
    with pytest.raises(FiglangError, match=r"holds the table of a sweep, sweep\.md, and no runs"):
        concluding.conclude([tmp_path])
