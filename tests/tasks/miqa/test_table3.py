"""MiQA by command: `evaluate.py data=miqa…` with a prompt, and the table of all prompts, with a tiny random
causal network."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.evaluation import cells
from figlang.runs.predictions import read_predictions
from figlang.scoring import choices
from figlang.statistics import metrics
from figlang.tasks.miqa.prompts import PROMPTS
from figlang.tasks.miqa.table3 import Table3, Table3Config
from tests.calls import mistake
from tests.reproducing import Run, runner
from tests.reproducing import miqa_table3 as table_command

TINY = [
    "data=miqa_sample",
    "data.limit=16",
    "model=causal",
    "model.bos=add",
    "trainer=cpu",
    "trainer.progress=false",
]


def composed(*words: str) -> Table3Config:
    return compose("reproduce", Table3Config, ["table=miqa_table3", *words])


@pytest.fixture
def run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(monkeypatch, tmp_path / "out", *TINY, f"model.name_or_path={folder}")


def test_one_prompt(run: Run, tmp_path: Path) -> None:
    content = run(evaluate_command, "prompt=miqa_qa", "prompt.k=2")
    rows = read_predictions(tmp_path / "out" / "predictions.jsonl")
    assert len(rows) == 16
    assert content["metrics"] == metrics.measure(rows)
    assert content["metrics"]["first_option"]["n"] == 16
    assert set(content["metrics"]["accuracy_by"]) == {"order", "question"}
    assert (
        "prompt:qa(reply=statement,case=first,layout=inline,k=2,per=item,separator='\\n\\n',seed=0)"
        in content["signature"]
    )


def test_another_normalisation_is_in_the_signature(run: Run) -> None:
    content = run(evaluate_command, "prompt=miqa_numbered", "prompt.reply=letter", "scoring=pmi")
    assert "scoring:pmi(minus_alone=True)|norm:sum|prompt:numbered(reply=letter," in content["signature"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["prompt=none"], "asks no question; MiQA needs one of prompt=miqa_or, miqa_numbered"),
        (["prompt=miqa_or", "prompt.reply=number"], "does not label its options"),
        (["prompt=miqa_qa", "prompt.question=x"], "no prompt 'x' for MiQA; choose one of or,"),
        (["prompt=miqa_qa", "prompt.template='{stem} {a} {b} {c}'"], "has {c}, which is unknown"),
        (
            ["prompt=miqa_qa", "prompt.k=44"],
            "miqa-1-implies-1 needs 44 examples, but there are only 43 other rows",
        ),
        (["prompt=miqa_qa", "prompt.suffix=so"], "cannot be used in a question"),
        (
            ["prompt=miqa_qa", "scoring=clean"],
            "scoring=clean has scoring.span=whole, which has no effect: only the answers to questions",
        ),
        (["prompt=miqa_qa", "scoring=liu2022"], "scoring=liu2022 has scoring.text=raw"),
        (["prompt=miqa_qa", "data=figqa_sample"], "asks questions, but the items of"),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, overrides: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in mistake(capsys, run, evaluate_command, *overrides)


def test_the_table_of_all_prompts(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = run(
        table_command,
        "shots=[0,2]",
        "one_by_one=2",
        "prompt.template='{stem}: {a} / {b}?'",
        "prompt.per=split",
    )
    for question in ("implies", "implied-by"):
        assert set(content["questions"][question]["prompts"]) == {*PROMPTS, "own"}
        assert content["questions"][question]["over_prompts"]["2"]["prompts"] == 5
    took = content["took"]
    assert took["ratio"] == took["tokens"] / took["read"] > 2
    assert took["one_by_one"]["largest_difference"] < 1e-4
    written = (tmp_path / "out" / "table3.md").read_text()
    assert written.count("\n| own |") == 2
    assert "published (" not in written
    assert "Published rows are left out" in written
    assert "best at 0 shots:" in capsys.readouterr().out


def test_a_folder_holds_one_table(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = tmp_path / "out" / "predictions"
    cells.mkdir(parents=True)
    (cells / "or-5-shot.jsonl").touch()  # of a table that was interrupted
    (cells / "notes.jsonl").touch()
    small = ("questions=[qa]", "data.limit=4")
    finished = run(table_command, "shots=[0,1]", *small)
    with pytest.raises(SystemExit):
        run(table_command, "shots=[0]", *small)
    assert (
        "out holds a finished result with other settings (shots: [0, 1] → [0]); choose another folder"
        in capsys.readouterr().err
    )
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == finished
    assert run(table_command, "shots=[0,1]", *small)["questions"] == finished["questions"]
    assert {path.name for path in cells.iterdir()} == {"qa-0-shot.jsonl", "qa-1-shot.jsonl", "notes.jsonl"}


def test_a_table_is_not_made_twice_and_an_interrupted_one_goes_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    measure = choices.measure
    made: list[int] = []

    def until_killed(*given: Any) -> Any:
        made.append(len(given[1]))
        if len(made) == 2:
            raise KeyboardInterrupt
        return measure(*given)

    monkeypatch.setattr(choices, "measure", until_killed)
    small = ("questions=[or,qa,no_choices]", "shots=[0,1]", "data.limit=4")
    with pytest.raises(SystemExit):
        run(table_command, *small)
    caplog.set_level("INFO")
    content = run(table_command, *small)
    assert made == [16] * 4
    assert content["took"]["kept"] == ["or"]
    assert "or-0-shot, or-1-shot there already, of an earlier run" in caplog.text
    assert "or had been made by an earlier run" in (tmp_path / "out" / "table3.md").read_text()
    assert run(table_command, *small) == content
    assert made == [16] * 4


def test_a_cell_of_the_table_is_what_its_prompt_gives_alone(run: Run, tmp_path: Path) -> None:
    run(table_command, "shots=[0,2]", "questions=[qa,no_choices]")
    cell = read_predictions(tmp_path / "out" / "predictions" / "qa-2-shot.jsonl")
    run(evaluate_command, "prompt=miqa_qa", "prompt.k=2", "overwrite=true")
    alone = read_predictions(tmp_path / "out" / "predictions.jsonl")
    assert [row.id for row in cell] == [row.id for row in alone]
    for one, other in zip(cell, alone, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-4)


def test_every_cell_has_what_evaluate_says_with_the_sentence_hidden(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = run(table_command, "shots=[0,2]", "questions=[qa,no_questions]")
    assert "Every prompt with the sentence hidden" in capsys.readouterr().out
    assert set(content["gains"]) == {"implies", "implied-by"}
    assert (tmp_path / "out" / "tables" / "blind.csv").is_file()
    cell = read_predictions(tmp_path / "out" / "blind" / "qa-2-shot.jsonl")
    run(evaluate_command, "prompt=miqa_qa", "prompt.k=2", "overwrite=true")
    alone = read_predictions(tmp_path / "out" / "predictions_blind.jsonl")
    seen = read_predictions(tmp_path / "out" / "predictions.jsonl")
    assert [row.id for row in cell] == [row.id for row in alone]
    for one, other in zip(cell, alone, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-4)
    for question, cells_of in content["gains"].items():
        rows = [row for row in alone if question in row.attributes["question"]]
        hidden, right = (
            sum(bool(row.correct) for row in some if question in row.attributes["question"])
            for some in (alone, seen)
        )
        measured = cells_of["qa-2-shot"]
        assert measured["blind"]["value"] == hidden / len(rows)
        assert measured["gain"]["value"] == pytest.approx((right - hidden) / len(rows))
        # A prompt that does not show the sentence has nothing to gain.
        assert cells_of["no_questions-0-shot"]["gain"]["value"] == 0


def test_a_switch_hides_nothing_and_cells_without_blind_are_made_again(run: Run, tmp_path: Path) -> None:
    small = ("questions=[qa]", "shots=[0]", "data.limit=4")
    content = run(table_command, *small, "blind=false")
    assert "gains" not in content
    assert not (tmp_path / "out" / "blind").exists()
    again = run(table_command, *small, "overwrite=true")
    assert set(again["gains"]["implies"]) == {"qa-0-shot"}
    assert again["questions"] == content["questions"]


def test_help_names_every_field(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "--help", "all"])
    table_command()
    text = capsys.readouterr().out
    assert "default [0,1,5]" in text
    assert "scoring.norm" in text


def test_prompts_without_labels_are_left_out_of_a_table_of_labels(caplog: pytest.LogCaptureFixture) -> None:
    config = composed("prompt.reply=number")
    with caplog.at_level("INFO", "figlang"):
        made = Table3(config)
    assert list(made.wordings) == ["numbered", "qa", "question_answer", "no_questions"]
    assert "prompts that are left out, since their options have no labels: or, no_choices" in caplog.text


def test_the_table_takes_its_numbers_of_examples_from_shots() -> None:
    with pytest.raises(FiglangError, match=r"prompt\.k=5 is for figlang evaluate; .* from shots="):
        Table3(composed("prompt.k=5"))


@pytest.mark.parametrize("name", ["answer", "pmi", "prior_corrected"])
def test_the_table_takes_the_scorings_of_an_answer_only(name: str) -> None:
    config = composed(f"scoring={name}")
    assert cells.filling_of(Table3(config), config)
    with pytest.raises(FiglangError, match=r"scoring=clean has scoring\.span=whole"):
        cells.filling_of(Table3(config), composed("scoring=clean"))


@pytest.mark.parametrize(
    "overrides", ["questions=[]", "shots=[-1]", "prompt.reply=number questions=[or]", "data=figqa_sample"]
)
def test_a_table_that_cannot_be_made_is_one_line(
    run: Run, overrides: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mistake(capsys, run, table_command, *overrides.split())
