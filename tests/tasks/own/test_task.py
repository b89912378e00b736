"""Three odd files (Spanish JSONL with four options, TSV with the right option as text, Parquet) are trained
on and evaluated by choice, log-probabilities, entailment and letters, beside published numbers."""

import csv
import json
import sys
from pathlib import Path

import pytest

from figlang.commands.report import main as report
from tests.running import run, train
from tests.stub_server import Stub, serving
from tests.tasks.own.written import FRASES, rows, write

QUIET = ("trainer.progress=false",)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files, and a dual encoder and a causal model that were trained on one of them."""
    place = tmp_path_factory.mktemp("own")
    training = [
        {**row, "frase": f"{row['frase']}, versión {number}", "clave": f"t{number}-{row['clave']}"}
        for number in range(4)
        for row in rows("text")
    ]
    write(place / "train.tsv", training)
    write(place / "frases.jsonl", rows())
    write(place / "frases.parquet", rows("letter"))
    (place / "frases.published.csv").write_text(
        "system,split,metric,value,source\nLoro 1B,validation,accuracy,40.25,Loro 2020\n"
        "Gente,test,accuracy,91.5,Loro 2020\n"
    )
    for name, words in (("dual", ["model=minilm"]), ("causal", ["model=gpt2", "method=lm"])):
        files = ["data.train=train.tsv", "data=frases.jsonl"]
        ended = train(place, *files, *words, f"run=runs/{name}/seed0")
        assert ended.returncode == 0, ended.stderr
    return place


def test_training_has_the_chance_and_the_categories_of_the_file(home: Path) -> None:
    for name in ("dual", "causal"):
        content = json.loads((home / "runs" / name / "seed0" / "metrics.json").read_text())
        assert content["task"] == "own"
        assert content["data_name"] == "frases"
        assert content["metrics"]["accuracy"]["n"] == len(FRASES)
        assert content["metrics"]["accuracy"]["chance"] == 0.25
        assert set(content["metrics"]["accuracy_by"]["tipo"]) == {"modismo", "metáfora"}


def test_published_numbers_are_shown_as_published(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["checkpoint=runs/dual/seed0", "data=frases.parquet", "output=shown", *QUIET]
    ended = run(home, "evaluate.py", *words)
    assert ended.returncode == 0, ended.stderr
    assert "Loro 1B" in ended.stdout
    assert "40.25" in ended.stdout
    assert "measured on test, this is validation" in ended.stdout
    assert "40.25" not in (home / "shown" / "metrics.json").read_text()
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "argv", ["report.py", "shown", "output=page"])
    report()
    with (home / "page" / "tables" / "published.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["model"], row["value"], row["where"]) == ("Loro 1B", "40.25", "Loro 2020")


def test_a_form_changes_no_score(home: Path) -> None:
    found = []
    for name in ("frases.jsonl", "frases.parquet"):
        words = [
            "checkpoint=runs/causal/seed0",
            f"data={name}",
            f"output=scores-{name}",
            "scoring=pmi",
            *QUIET,
        ]
        ended = run(home, "evaluate.py", *words, "data.columns.id=clave")
        assert ended.returncode == 0, ended.stderr
        lines = (home / f"scores-{name}" / "predictions.jsonl").read_text().splitlines()
        found.append([(json.loads(line)["id"], json.loads(line)["scores"]) for line in lines])
    assert found[0] == found[1]
    assert [len(scores) for _, scores in found[0]] == [4] * len(FRASES)


def test_examples_come_from_the_training_file(home: Path) -> None:
    words = ["checkpoint=runs/causal/seed0", "data=frases.jsonl", "data.train=train.tsv", "prompt=k1"]
    ended = run(home, "evaluate.py", *words, "output=k1", *QUIET)
    assert ended.returncode == 0, ended.stderr
    content = json.loads((home / "k1" / "metrics.json").read_text())
    assert "k=1,source=train@" in content["facts"]["prompt"]


def test_a_model_that_always_says_c_is_right_as_often_as_chance(home: Path) -> None:
    with serving(Stub(reply=lambda message: "C")) as stub:
        served = [*stub.words, "scoring=letter"]
        ended = run(
            home, "evaluate.py", "data=frases.jsonl", *served, "output=letters", "blind=false", *QUIET
        )
        assert ended.returncode == 0, ended.stderr
    content = json.loads((home / "letters" / "metrics.json").read_text())
    assert content["metrics"]["accuracy"]["value"] == 0.25  # every option stands at every letter once
    assert content["metrics"]["accuracy"]["n"] == 4 * len(FRASES)
    assert content["facts"]["prompt"].startswith("options(")


def test_a_network_for_entailment_chooses_what_follows(home: Path) -> None:
    samples = ["data.root=package:figlang/samples", "run=runs/nli/seed0"]
    ended = train(home, "data=snli", "method=nli", "model=minilm", *samples)
    assert ended.returncode == 0, ended.stderr
    words = ["checkpoint=runs/nli/seed0", "data=frases.jsonl", "output=entail", *QUIET]
    ended = run(home, "evaluate.py", *words)
    assert ended.returncode == 0, ended.stderr
    content = json.loads((home / "entail" / "metrics.json").read_text())
    assert content["metrics"]["accuracy"]["n"] == len(FRASES)
    assert "|scoring:nli:entail(on=probabilities)|" in content["signature"]
    judged = (home / "entail" / "judgements.jsonl").read_text().splitlines()
    assert len(judged) == 4 * len(FRASES), "each option is a hypothesis"


def test_training_on_the_evaluated_file_is_refused(home: Path) -> None:
    ended = train(
        home, "data=frases.jsonl", "data.validation=frases.parquet", "model=minilm", "run=runs/same"
    )
    assert ended.returncode == 2
    assert "also occurs in an evaluation split" in ended.stderr


def test_the_bundled_sample_is_read_as_it_is(home: Path) -> None:
    words = ["checkpoint=runs/dual/seed0", "data=own_sample", "data.strict=true", "output=sample", *QUIET]
    ended = run(home, "evaluate.py", *words)
    assert ended.returncode == 0, ended.stderr
    content = json.loads((home / "sample" / "metrics.json").read_text())
    assert content["metrics"]["accuracy"]["n"] == 12
    assert content["data"]["notes"] == []
