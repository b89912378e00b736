"""Damaged files of finished evaluations are refused in one line, or shown by their predictions."""

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from tests.report_runs import SAMPLE, run

ROOT = Path(__file__).parents[2]
Change = Callable[[Any], Any]


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


def of_line(name: str, change: Change, number: int = 2) -> Callable[[Path], None]:
    """Damage one line of a JSONL file: `change` maps its object to another, or to a text."""

    def damage(folder: Path) -> None:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        changed = change(json.loads(lines[number - 1]))
        lines[number - 1] = changed if isinstance(changed, str) else json.dumps(changed)
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return damage


def of_document(name: str, change: Change) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        changed = change(json.loads((folder / name).read_text()))
        (folder / name).write_text(changed if isinstance(changed, str) else json.dumps(changed))

    return damage


def put(**values: Any) -> Change:
    return lambda row: row | values


def without(key: str) -> Change:
    return lambda row: {name: value for name, value in row.items() if name != key}


def inside(path: str, value: Any) -> Change:
    """A document with another value at a place such as metrics.accuracy.value."""

    def change(content: dict[str, Any]) -> dict[str, Any]:
        *way, last = path.split(".")
        place = content
        for key in way:
            place = place[key]
        place[last] = value
        return content

    return change


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


PREDICTIONS, BACKWARD, MEASURED, REPLIES = (
    "predictions.jsonl",
    "predictions_backward.jsonl",
    "log_probabilities.jsonl",
    "replies.jsonl",
)
DEEP = "[" * 100_000 + "]" * 100_000
ROWS: list[tuple[str, Change, str]] = [
    *[
        (name, change, said)
        for name in (PREDICTIONS, BACKWARD)
        for change, said in (
            (lambda row: json.dumps(row).replace(str(row["scores"][0]), "NaN"), "finite number"),
            (lambda row: json.dumps(row).replace(str(row["scores"][0]), "-Infinity"), "finite number"),
            (lambda row: json.dumps(row).replace(str(row["scores"][0]), "1e999"), "finite number"),
            (put(id=["a", ["b"]]), "id: input should be a valid string"),
            (put(id=7), "id: input should be a valid string"),
            (put(id=""), "id: string should have at least 1 character"),
            (put(group=None), "group: input should be a valid string"),
            (put(gold="0"), "gold: input should be a valid integer"),
            (put(gold=True), "gold: input should be a valid integer"),
            (put(gold=0.5), "gold: input should be a valid integer"),
            (put(gold=-1), "gold: input should be greater than or equal to 0"),
            (put(gold=2, choice=None), "is not a prediction"),
            (put(scores=[]), "scores: "),
            (put(scores="12"), "scores: input should be a valid"),
            (put(scores=[1.0, "2"]), "scores.1: input should be a valid number"),
            (put(scores=[1.0, None]), "scores.1: input should be a valid number"),
            (put(scores=[[1.0], [2.0]]), "scores.0: input should be a valid number"),
            (put(scores={"0": 1.0}), "scores: input should be a valid"),
            (put(attributes=["obj"]), "attributes: input should be"),
            (put(attributes={"commonsense": "obj"}), "attributes.commonsense: input should be a valid"),
            (
                put(attributes={"commonsense": [1]}),
                "attributes.commonsense.0: input should be a valid string",
            ),
            (put(paired="yes"), "paired: input should be a valid boolean"),
            (put(choice="0"), "choice: input should be a valid integer"),
            (put(scores=[3.0, 1.0], choice=1), "its choice is 1, but its scores say 0"),
            (put(scores=[1.0, 1.0], choice=1), "its choice is 1, but its scores say None"),
            (put(scores=[1.0, 3.0, 2.0], choice=1), "3 scores, but others of its group"),
            *(
                (without(key), f"{key}: field required")
                for key in ("id", "group", "gold", "scores", "attributes")
            ),
            (lambda row: "", "invalid JSON"),
            (lambda row: "null", "is not a prediction"),
            (lambda row: "[]", "is not a prediction"),
            (lambda row: DEEP, "recursion limit"),
            (lambda row: json.dumps(row)[:-5], "invalid JSON"),
        )
    ],
    *[
        (MEASURED, change, said)
        for change, said in (
            (put(answer_alone=[[float("nan"), 4, 20], [-5.0, 4, 21]]), "finite number"),
            (put(answer_alone=[[-3.0, 0, 20], [-5.0, 4, 21]]), "greater than or equal to 1"),
            (put(answer_alone=[[-3.0, 4], [-5.0, 4, 21]]), "answer_alone.0.2: field required"),
            (put(answer_alone=[[-3.0, 4, 20]]), "1 values of answer_alone, but its prediction has 2 options"),
            (put(answer_alone=7), "answer_alone: input should be a valid array"),
            (put(whole={"a": 1}), "whole: input should be a valid array"),
            (put(id="nowhere"), "is about nowhere, which has no prediction"),
            (without("id"), "id: field required"),
            (lambda row: "{", "invalid JSON"),
        )
    ],
    *[
        (REPLIES, change, said)
        for change, said in (
            (put(letter="AB"), "letter: string should match pattern"),
            (put(letter=1), "letter: input should be a valid string"),
            (put(cut=None), "cut: input should be a valid boolean"),
            (put(id="nowhere"), "is about nowhere, which has no prediction"),
            (without("letter"), "letter: field required"),
            (lambda row: DEEP, "recursion limit"),
        )
    ],
]
DOCUMENTS: list[tuple[str, Change, str]] = [
    *[
        ("metrics.json", change, said)
        for change, said in (
            (
                inside("metrics.accuracy.value", 99),
                "metrics.accuracy.value: input should be less than or equal to 1",
            ),
            (
                inside("metrics.accuracy.value", -0.1),
                "metrics.accuracy.value: input should be greater than or equal to 0",
            ),
            (inside("metrics.accuracy.value", float("nan")), "is damaged"),
            (inside("metrics.accuracy.low", float("inf")), "is damaged"),
            (
                inside("metrics.accuracy.value", "0.5"),
                "metrics.accuracy.value: input should be a valid number",
            ),
            (
                inside("metrics.accuracy.n", 0),
                "metrics.accuracy.n: input should be greater than or equal to 1",
            ),
            (inside("metrics.accuracy", 0.5), "metrics.accuracy: input should be"),
            (inside("metrics.pair_accuracy", {"value": 0.5}), "metrics.pair_accuracy.low: field required"),
            (inside("metrics.accuracy_by", []), "metrics.accuracy_by: input should be"),
            (
                inside("metrics.accuracy_by", {"a": {"b": {"value": 2}}}),
                "metrics.accuracy_by.a.b.value: input should be less",
            ),
            (inside("metrics.items", "23"), "metrics.items: input should be a valid integer"),
            (inside("metrics.items", 22), "rows were added"),
            (inside("metrics.items", 1000), "rows are missing"),
            (inside("metrics.accuracy.chance", 0.25), "other numbers of options"),
            (
                inside("backward.accuracy.value", 99),
                "backward.accuracy.value: input should be less than or equal to 1",
            ),
            (inside("backward.items", 2), "rows were added"),
            (
                inside("replies.invalid.value", 3),
                "replies.invalid.value: input should be less than or equal to 1",
            ),
            (inside("seed", "0"), "seed: input should be a valid integer"),
            (inside("model", ["m"]), "model: input should be a valid string"),
            (inside("facts", ["m"]), "facts: input should be"),
            (inside("facts.model", ["m"]), "facts.model"),
            (inside("facts.train_seed", [0]), "facts.train_seed"),
            (inside("versions.torch", 2), "versions.torch: input should be a valid string"),
            (inside("health", [{"code": "collapsed"}]), "health.0.epoch: field required"),
            (inside("health", "ill"), "health: input should be a valid list"),
            (inside("training", []), "training: input should be"),
            (inside("data", 3), "data: input should be"),
            (inside("command", 3), "command: input should be a valid string"),
            *(
                (without(key), f"{key}: field required")
                for key in ("signature", "metrics", "model", "data_name", "split", "seed")
            ),
            (lambda content: DEEP, "recursion limit"),
            (lambda content: "", "is damaged"),
            (lambda content: "[]", "does not hold an object"),
            (lambda content: json.dumps(content)[:-9], "is damaged"),
        )
    ],
    ("recipe.json", without("settings"), "settings: field required"),
    ("recipe.json", inside("settings", []), "settings: input should be"),
    ("recipe.json", lambda content: "{", "is damaged"),
]


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


def test_reading_is_linear_and_holds_no_second_copy(tmp_path: Path) -> None:
    rows = [
        Prediction(f"q{number}", f"g{number // 2}", 1, (0.25, 1.5), {"a": ("b",)}) for number in range(2000)
    ]
    write_predictions(tmp_path / "predictions.jsonl", rows)
    assert read_predictions(tmp_path / "predictions.jsonl") == rows
    lines = stored.rows(tmp_path / "predictions.jsonl", stored.PREDICTION, "a prediction", "evaluate again")
    assert next(lines)[1]["id"] == "q0", "line by line, before the rest is read"
