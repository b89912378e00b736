"""Damaged files of finished evaluations are refused in one line, or shown by their predictions."""

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from figlang.commands.compare import main as compare_command
from figlang.commands.report import main as report_command
from figlang.config import PathsConfig, ReportConfig
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.rating import answers
from figlang.reports import assembly
from figlang.runs import recomputed
from figlang.runs.predictions import read_predictions, write_predictions
from figlang.statistics.metrics import measure
from figlang.tasks import registry as data
from figlang.types import Prediction, Split
from tests.files.damage import (
    BACKWARD,
    DOCUMENTS,
    PREDICTIONS,
    REPLIES,
    ROWS,
    Change,
    inside,
    of_document,
    of_line,
    put,
)
from tests.report_runs import SAMPLE, run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def split() -> Split:
    return data.load("validation", SAMPLE, PathsConfig())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, split: Split) -> Path:
    """An evaluation with every file that one may have."""
    path = Path(run(tmp_path_factory.mktemp("whole") / "one", split, 4, seed=0))
    rows = read_predictions(path / "predictions.jsonl")
    write_predictions(path / "predictions_backward.jsonl", rows)
    sums = [[-3.0, 4, 20], [-5.0, 4, 21]]
    measured = [
        {"id": row.id, "whole": sums, "answer": sums, "answer_alone": sums, "metaphor_alone": [-9.0, 7, 30]}
        for row in rows
    ]
    replies = [{"id": row.id, "message": "Which?", "reply": "A", "letter": "A", "cut": False} for row in rows]
    for name, lines in (("log_probabilities.jsonl", measured), ("replies.jsonl", replies)):
        (path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    content = json.loads((path / "metrics.json").read_text())
    del content["files"]  # as before there were hashes, so that what is damaged is found by what it says
    content |= {"backward": measure(rows)} | {"replies": recomputed.measured(path)["replies"]}
    (path / "metrics.json").write_text(json.dumps(content))
    return path


@pytest.fixture
def folder(tmp_path: Path, whole: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "one"))


def refused(folder: Path) -> str:
    """What a report about a folder refuses it with."""
    with pytest.raises(FiglangError) as error:
        assembly.write(ReportConfig([str(folder)], analysis="off"), folder / "report")
    assert "\n" not in str(error.value)
    assert not (folder / "report" / "report.html").exists()
    return str(error.value)


def dropped(folder: Path) -> None:
    path = folder / "predictions.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))


def twice(folder: Path) -> None:
    path = folder / "predictions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[0]]))


def cut(folder: Path) -> None:
    path = folder / "predictions.jsonl"
    path.write_bytes(path.read_bytes()[:-20])


def line_of(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[[], None],
    *words: str,
) -> str:
    """What a command says that refuses."""
    monkeypatch.setattr("sys.argv", ["figlang", *words])
    with pytest.raises(SystemExit) as stopped:
        command()
    said = capsys.readouterr().err.strip().splitlines()
    assert stopped.value.code == 2
    errors = [line for line in said if line.startswith("error: ")]
    assert len(errors) == 1
    assert said[-1] == errors[0]
    return errors[0]


@pytest.mark.parametrize(("name", "change", "message"), ROWS)
def test_a_damaged_row_is_named(
    folder: Path,
    name: str,
    change: Change,
    message: str,
) -> None:
    of_line(name, change)(folder)
    said = refused(folder)
    assert f"{folder / name}: line 2 " in said
    assert message in said


@pytest.mark.parametrize(("name", "change", "message"), DOCUMENTS)
def test_a_damaged_document_is_named(
    folder: Path,
    name: str,
    change: Change,
    message: str,
) -> None:
    of_document(name, change)(folder)
    said = refused(folder)
    assert str(folder) in said
    assert message in said


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (dropped, "which has no prediction"),
        (lambda folder: dropped((folder / REPLIES).unlink() or folder), "rows are missing"),
        (twice, "of an earlier line"),
        (cut, "invalid JSON"),
        (lambda folder: (folder / PREDICTIONS).write_bytes(b"\xff\xfe\x00"), "line 1 is not a prediction"),
        (lambda folder: (folder / BACKWARD).unlink(), "has 'backward', but the predictions"),
        (
            lambda folder: (folder / "log.csv").write_text("step,epoch\n1,2\n"),
            "line 1 does not name the columns",
        ),
        (
            lambda folder: (folder / "log.csv").write_text(
                "step,epoch,split,metric,value\n1,0,train,loss,nan\n"
            ),
            "line 2 is not a row of a log",
        ),
        (
            lambda folder: (folder / "log.csv").write_text("step,epoch,split,metric,value\n1,0,train,loss\n"),
            "line 2 is not a row of a log",
        ),
        (
            lambda folder: (folder / "log.csv").write_text(
                "step,epoch,split,metric,value\nx,0,train,loss,1\n"
            ),
            "line 2 is not a row of a log",
        ),
        # Sound by itself, but not of these items.
        (of_line(PREDICTIONS, lambda row: row | {"gold": 1 - row["gold"]}), "gold option"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_missing_doubled_and_cut_files_are_named(
    folder: Path,
    damage: Callable[[Path], None],
    message: str,
) -> None:
    damage(folder)
    assert message in refused(folder)


def test_compare_reads_as_strictly(
    folder: Path, split: Split, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run(folder.parent / "two", split, 3)
    of_line(PREDICTIONS, put(choice=7))(folder)
    assert "its choice is 7, but its scores say" in line_of(
        capsys, monkeypatch, compare_command, str(folder), other
    )


def test_a_sound_metrics_json_that_says_something_else_is_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    right = json.loads((folder / "metrics.json").read_text())["metrics"]["accuracy"]["value"]
    of_document("metrics.json", inside("metrics.accuracy.value", 0.99))(folder)
    monkeypatch.setattr("sys.argv", ["figlang", str(folder), "analysis=off"])
    with caplog.at_level(logging.WARNING):
        report_command()
    assert (
        f"metrics.accuracy 0.9900 there, {right:.4f} here; the tables show the numbers of the predictions"
        in caplog.text
    )
    summary = (folder / "report" / "tables" / "summary.md").read_text()
    assert f"| {100 * right:.1f} (" in summary
    assert "99.0" not in summary


def test_intervals_of_an_earlier_method_are_no_difference(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    of_document("metrics.json", inside("metrics.accuracy.low", 0.0))(folder)
    assert recomputed.checked(folder / "metrics.json")["metrics"]["accuracy"]["low"] > 0
    assert not caplog.text


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("checkpoints/*/metrics.json")))
def test_released_results_are_read_and_are_what_their_predictions_give(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = ROOT / "checkpoints" / name
    assert recomputed.checked(folder / "metrics.json")["metrics"]["items"] == 1094
    assert not caplog.text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"item": 1}', "item: input should be a valid string"),
        ("{", "invalid JSON"),
        ("[NaN]", "line 1 is not an answer"),
        ('{"item":"a","group":"g","kind":"k","sample":-1,"prompt":"p","text":"t","answer":"t"}', "sample: "),
    ],
)
def test_a_damaged_answer_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / answers.FILE).write_text(line + "\n")
    with pytest.raises(FiglangError, match="line 1 is not an answer") as error:
        answers.read(tmp_path)
    assert message in str(error.value)


@pytest.mark.parametrize("deep", ['{"a": ' + "[" * 100_000, "- " * 100_000 + "a"], ids=["brackets", "lists"])
def test_settings_of_endless_depth_are_refused(tmp_path: Path, deep: str) -> None:
    """The loader that is not written in Python ended the process."""
    (tmp_path / "config.yaml").write_text(deep)
    with pytest.raises(FiglangError, match="it has more than 100 levels"):
        stored.settings(tmp_path / "config.yaml", "put it back")


def test_reading_is_linear_and_holds_no_second_copy(tmp_path: Path) -> None:
    rows = [
        Prediction(f"q{number}", f"g{number // 2}", 1, (0.25, 1.5), {"a": ("b",)}) for number in range(2000)
    ]
    write_predictions(tmp_path / "predictions.jsonl", rows)
    assert read_predictions(tmp_path / "predictions.jsonl") == rows
    lines = stored.rows(tmp_path / "predictions.jsonl", stored.PREDICTION, "a prediction", "evaluate again")
    assert next(lines)[1]["id"] == "q0", "line by line, before the rest is read"
