"""`figlang judge` as a user runs it: a stub server as the judge, tiny networks, sheets of people."""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from figlang.commands.judge import main as judge_command
from figlang.commands.rate import main as rate_command
from figlang.rating import calibration_tables, judges, sheets
from tests.stub_server import MODEL, Stub, serving

ROWS = [
    (f"Her voice was velvet {n}. That is to say,", f"it was {word}")
    for n in range(6)
    for word in ("soft", "red")
]
WORDS = ("correct", "incorrect", "literal", "ambiguous")
ODD = {
    "soft 0": "",
    "red 1": "Rating: correct or literal",
    "soft 2": "<think>Rating: literal</think>I cannot say",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make a sheet of twelve answers, and run the command in its folder."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "gpt.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("prompt", "answer"), *ROWS])
    monkeypatch.setattr(sys, "argv", ["figlang rate", "texts=[gpt.csv]", "folder=sheet"])
    rate_command()

    def judge(*words: str) -> Path:
        monkeypatch.setattr(sys, "argv", ["figlang judge", "folder=sheet", "trainer.progress=false", *words])
        judge_command()
        return tmp_path / "sheet"

    return judge


def people(folder: Path, count: int) -> None:
    """Two people rate the first answers of the sheet alike: soft is correct."""
    for person in ("ann", "ben"):
        with (folder / "sheet.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        with (folder.parent / f"{person}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "rating"])
            for row in rows[:count]:
                writer.writerow([row["id"], "correct" if "soft" in row["answer"] else "literal"])


def reply(message: str) -> str:
    """The stub's rating: right, but for odd replies to some, and another one backwards about red 3."""
    about = {
        f"{word} {n}"
        for n in range(6)
        for word in ("soft", "red")
        if f"velvet {n}" in message and word in message
    }
    backwards = message.find("- ambiguous") < message.find("- correct")
    if found := about & ODD.keys():
        return ODD[found.pop()]
    if "red 3" in about and backwards:
        return "Rating: correct"
    return "Let me see.\nRating: " + ("correct" if "was soft" in message else "literal")


def test_a_served_judge_beside_people(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")
    people(tmp_path / "sheet", 8)
    served = ("model=served", f"model.name={MODEL}", "name=stub", f"paths.cache={tmp_path / 'cache'}")
    with serving(Stub(reply=reply)) as stub:
        words = (*served, f"model.endpoint={stub.url}", "ratings=[ann.csv,ben.csv]")
        folder = run(*words)
        asked = len(stub.seen)
        assert asked == 24  # twelve answers in two orders
        run(*words)
        assert len(stub.seen) == asked  # its ratings are kept
    content = json.loads((folder / "judging.json").read_text())
    assert content["unread"] == {"stub": 4}  # three odd ones, and one on which the orders differ
    assert (content["rated"], content["answers"], content["raters"]) == (8, 12, 2)
    names = {row["rater"]: row for row in content["agreement"]}
    assert names["stub"]["kappa"] == 1
    rows = [json.loads(line) for line in (folder / "judges/stub/ratings.jsonl").read_text().splitlines()]
    reasons = {one["reason"] for row in rows for one in row["asked"] if one["reason"]}
    assert {reason.split()[0] for reason in reasons} == {"empty", "no"}
    told = " ".join(capsys.readouterr().out.split())
    assert "4 of 12 answers without a rating" in told
    assert told.count("24 of 24 answers are counted by the endpoint: 240 tokens in") == 2
    usage = json.loads((folder / "judges/stub/metrics.json").read_text())["usage"]
    assert (usage["requests"], usage["tokens_in"]) == (24, 240)
    # The judge's sheet is a rater's.
    _, rated = sheets.read(folder, [folder / "judges/stub/sheet.csv"])
    assert sum(one.codes[0] == 1 for one in rated) == 4


def test_replies_to_one_order_alone_and_one_word_for_everything_are_told(
    run: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")

    def half(message: str) -> str:
        backwards = message.find("- ambiguous") < message.find("- correct")
        return "Well." if backwards and "velvet 1" in message else "Rating: literal"

    with serving(Stub(reply=half)) as stub:
        served = ("model=served", f"model.name={MODEL}", f"paths.cache={tmp_path / 'cache'}")
        folder = run(*served, f"model.endpoint={stub.url}")
    assert json.loads((folder / "judging.json").read_text())["one_word"] == {MODEL: "literal"}
    assert "it gave literal to every answer that it rated" in " ".join(capsys.readouterr().out.split())
    assert "2 of 12 answers are rated by one order of the words alone" in caplog.text
    assert "got no rating" not in caplog.text


def test_a_network_gives_probabilities_and_says_that_nobody_rated(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run("model=causal", "model.init=tiny", "name=tiny")
    rows = [json.loads(line) for line in (folder / "judges/tiny/ratings.jsonl").read_text().splitlines()]
    assert all(sum(row["values"].values()) == pytest.approx(1) for row in rows)
    assert all(len(row["asked"]) == 2 for row in rows)
    assert " ".join(calibration_tables.ONLY_A_JUDGE.split()[:9]) in " ".join(capsys.readouterr().out.split())


def test_a_served_model_can_give_probabilities_too(run: Callable[..., Path], tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")
    with serving(Stub(chats=False)) as stub:
        address = (f"model.endpoint={stub.url}", f"model.name={MODEL}", f"paths.cache={tmp_path / 'cache'}")
        folder = run("model=served", *address, "name=stub", "ask=words", "prior=removed")
        assert all(body["prompt"].rsplit("Rating:")[1].strip() in WORDS for body in stub.seen)
    rows = [json.loads(line) for line in (folder / "judges/stub/ratings.jsonl").read_text().splitlines()]
    assert len(rows) == len(ROWS)
    assert all(sum(row["values"].values()) == pytest.approx(1) for row in rows)
    assert json.loads((folder / "judging.json").read_text())["prior"] == "removed"


def test_an_encoder_is_a_metric_and_chrf_stands_beside_it(run: Callable[..., Path], tmp_path: Path) -> None:
    people(tmp_path / "sheet", 12)
    (tmp_path / "meant.csv").write_text(
        "prompt,reference\n" + "".join(f'"{prompt}",it was soft\n' for prompt, _ in ROWS[::2])
    )
    folder = run("model=minilm", "model.init=tiny", "name=tiny", "references=meant.csv", "ratings=[ann.csv]")
    content = json.loads((folder / "judging.json").read_text())
    found = {row["judge"]: row for row in content["correlations"] if row["quantity"] == "correct"}
    assert set(found) == {"chrF", "tiny"}
    assert found["chrF"]["pearson"]["r"] == pytest.approx(1)
    assert content["agreement"][1:] == []


def test_a_metric_without_people_is_named_and_has_no_empty_table(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run("model=minilm", "model.init=tiny", "name=tiny", "chrf=false")
    said = capsys.readouterr().out
    assert "In no table: tiny. A measure of likeness rates nothing" in said
    assert "own, %" not in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("model=minilm", "checkpoint=x"), "leave model= out"),
        (("references=none.csv",), "none.csv"),
        (("model=causal", "model.init=tiny", "ask=reply"), "no chat template"),
        (("ratings=[sheet/sheet.csv]",), "the column rating is empty"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SystemExit):
        run(*words)
    assert message in capsys.readouterr().err


def test_ratings_of_other_settings_or_another_sheet_are_not_mixed(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run("model=causal", "model.init=tiny", "name=tiny", "chrf=false")
    with pytest.raises(SystemExit):
        run("model=causal", "model.init=tiny", "name=tiny", "orders=one")
    assert "other settings (asked.both: True → False)" in capsys.readouterr().err
    path = folder / judges.FOLDER / "tiny" / judges.FILE
    path.write_text(path.read_text().replace("r01-", "r01x-"))
    with pytest.raises(SystemExit):
        run("chrf=false")
    assert "not of the answers of this sheet" in capsys.readouterr().err
