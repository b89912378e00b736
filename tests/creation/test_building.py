"""What `figlang create` writes is a benchmark at once: `data=` reads it, and people can be asked."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from figlang.commands.create import main as create_command
from figlang.commands.evaluate import main as evaluate_command
from figlang.config import DataConfig, PathsConfig, RateServeConfig
from figlang.config.composing import data_presets
from figlang.rating.serving import study
from figlang.runs.predictions import read_predictions
from figlang.tasks import registry
from tests.creation.written import rows, table

QUIET = ("trainer=cpu", "trainer.progress=false", "trainer.threads=1")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark of 20 pairs, of which one repeats another and one has a blank cell."""
    monkeypatch.chdir(tmp_path)
    some = rows(20)
    some[7] |= {part: some[2][part] for part in ("metaphor1", "metaphor2")}
    some[9]["meaning1"] = ""
    table(tmp_path / "items.csv", some)
    create(monkeypatch, "file=items.csv", "output=mine")
    return tmp_path / "mine"


def create(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr("sys.argv", ["create.py", *words, *QUIET])
    create_command()


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_its_splits_are_read_as_they_were_written(made: Path) -> None:
    data = DataConfig(name="data", dataset="own", file=str(made / "data.yaml"))
    groups: dict[str, set[str]] = {}
    for name in ("train", "validation", "test"):
        split = registry.load(name, data, PathsConfig())
        written = lines(made / f"{name}.jsonl")
        assert [(item.id, item.gold, item.context) for item in split.items] == [
            (row["id"], row["gold"], row["context"]) for row in written
        ]
        assert all(item.paired for item in split.items)
        groups[name] = {str(row["group"]) for row in written}
    assert not groups["train"] & groups["validation"]
    assert not groups["train"] & groups["test"]
    assert not groups["validation"] & groups["test"]
    assert set.union(*groups.values()) == {f"p{n}" for n in range(20)} - {"p7", "p9"}
    assert {row["id"] for row in lines(made / "dropped.jsonl")} == {"p7-1", "p7-2"}


def test_a_seed_repeats_every_file(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(monkeypatch, "file=items.csv", "output=again")
    create(monkeypatch, "file=items.csv", "output=other", "seed=1")
    names = [path.name for path in made.iterdir() if path.suffix in (".jsonl", ".csv", ".yaml")]
    contents = {name: (made / name).read_bytes() for name in names}
    assert contents == {name: (made.parent / "again" / name).read_bytes() for name in names}
    assert (made.parent / "other" / "validation.jsonl").read_bytes() != contents["validation.jsonl"]


def test_the_commands_at_the_end_can_be_pasted(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create(monkeypatch, "file=items.csv", "output=my set", "guesses=0")
    said = capsys.readouterr().out
    (line,) = re.findall(r"evaluate a model: (.+)", said)
    assert shlex.split(line) == ["figlang", "evaluate", "data=my set/data.yaml"]
    (line,) = re.findall(r"ask people: (.+)", said)
    assert shlex.split(line)[3] == "data=my set/people.yaml"


def test_an_evaluation_of_it_runs_at_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["data=mine/data.yaml", "model=minilm", "model.init=tiny", "output=out", *QUIET]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *words])
    evaluate_command()
    found = read_predictions(made.parent / "out" / "predictions.jsonl")
    assert [row.id for row in found] == [row["id"] for row in lines(made / "validation.jsonl")]


def test_people_are_asked_and_what_they_doubt_is_dropped(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataConfig(name="people", dataset="own", file=str(made / "people.yaml"))
    asked = study.of(RateServeConfig(data=data, folder="people", raters=["ann"]), made.parent / "people")
    golds = {row["id"]: row["gold"] for row in lines(made / "items.jsonl")}
    assert {one.id: one.gold for one in asked.questions} == golds
    with (made / "sheet.csv").open(encoding="utf-8", newline="") as file:
        sheet = list(csv.DictReader(file))
    assert sorted(row["id"] for row in sheet) == sorted(map(str, golds))
    for rater in ("ann", "ben"):
        wrong = ("p3-1",) if rater == "ann" else ("p3-1", "p4-2")
        with Path(f"{rater}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(sheet[0]), lineterminator="\n")
            writer.writeheader()
            for row in sheet:
                gold = int(str(golds[row["id"]]))
                writer.writerow({**row, "choice": str((1 - gold if row["id"] in wrong else gold) + 1)})
    create(monkeypatch, "file=items.csv", "output=mine", "ratings=[ann.csv,ben.csv]")
    reasons = {row["id"]: row["reason"] for row in lines(made / "dropped.jsonl")}
    assert {name[:3] for name in map(str, reasons)} == {"p3-", "p7-"}
    assert reasons["p3-1"] == "people: 0 of 2 people chose the writer's option"
    assert "human ceiling" in (made / "README.md").read_text(encoding="utf-8")


def test_if_nothing_is_left_the_error_says_what_dropped_it(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    golds = {row["id"]: int(str(row["gold"])) for row in lines(made / "items.jsonl")}
    with Path("ann.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "choice"), *((name, 2 - gold) for name, gold in golds.items())])
    with pytest.raises(SystemExit):
        create(monkeypatch, "file=items.csv", "output=mine", "ratings=[ann.csv]")
    error = capsys.readouterr().err
    assert "all 38 were dropped, p0-1 for people: 0 of 1 people chose the writer's option" in error
    assert "row 10" not in error  # a blank cell is not why


def test_another_data_set_is_searched_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = registry.load("validation", data_presets(["figqa_sample"])[0], PathsConfig())
    some = rows(6)
    some[1]["metaphor1"] = known.items[0].context
    table(tmp_path / "items.csv", some)
    create(monkeypatch, "file=items.csv", "output=mine", "against=[figqa_sample]", "name=ours")
    reasons = {row["id"]: str(row["reason"]) for row in lines(tmp_path / "mine" / "dropped.jsonl")}
    assert set(reasons) == {"p1-1", "p1-2"}
    assert "figqa_sample" in reasons["p1-1"]
    assert "# ours" in (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")


def test_a_file_of_one_s_own_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    some = rows(6)
    table(tmp_path / "items.csv", some)
    known = f"context,option1,option2,label\n{some[1]['metaphor1']},It is so,It is not,0\n"
    (tmp_path / "known.csv").write_text(known, encoding="utf-8")
    create(monkeypatch, "file=items.csv", "output=mine", "against=known.csv", "name=ours")
    with (tmp_path / "mine" / "checks.csv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["check"] == "elsewhere"]
    assert len(found) == 1
    assert "known" in found[0]["what"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give prompts=N"),
        (("prompts=3", "file=items.csv"), "give prompts=N"),
        (("prompts=3", "ratings=[a.csv]"), "need items"),
        (("file=items.csv", "validation=0.6", "test=0.5"), "more than 1 together"),
        (("file=missing.csv",), "missing.csv"),
    ],
)
def test_a_wrong_command_is_refused_in_one_line(
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    with pytest.raises(SystemExit):
        create(monkeypatch, *words)
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
