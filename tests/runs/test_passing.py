"""A pattern such as `checkpoints/*` names files that are not results."""

import logging
from pathlib import Path

import pytest

from figlang.runs.passing import results_among


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "predictions.jsonl").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "README.md").touch()
    (tmp_path / "other.csv").touch()
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_what_is_not_a_result_is_passed_over_with_a_note(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "figlang")
    assert results_among(["README.md", "a", "b", "empty", "other.csv"]) == ["a", "b", "other.csv"]
    assert caplog.messages == ["passed over, since they are not results: README.md, empty"]


def test_a_seed_that_is_not_finished_is_left_out_with_a_warning(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "figlang")
    (folder / "empty" / "recipe.json").touch()
    assert results_among(["README.md", "a", "b", "empty"]) == ["a", "b"]
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "left out, since not finished: empty; the command that began a run continues it"),
        ("INFO", "passed over, since they are not results: README.md"),
    ]


@pytest.mark.usefixtures("folder")
def test_what_is_missing_or_needed_stays(caplog: pytest.LogCaptureFixture) -> None:
    assert results_among(["a", "nowhere"]) == ["a", "nowhere"]
    assert results_among(["README.md"]) == ["README.md"]
    assert results_among(["a", "README.md"], least=2) == ["a", "README.md"]
    assert caplog.messages == []
