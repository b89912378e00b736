"""Every reply that cannot be read stands in a report with its reason."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.commands.compare import main as compare_command
from figlang.commands.report import main as report_command
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

REPLIES = {
    "": "it is empty",
    "I cannot say.": "it names no option",
    "A or B": "it names several options: A, B",
}


def first_tokens(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
    """A server that shows a letter for every second message."""
    if not body.get("top_logprobs"):
        return None
    token = "A" if len(body["messages"][-1]["content"]) % 2 else "The"
    shown = {"content": [{"top_logprobs": [{"token": token, "logprob": -1.0}]}]}
    choice = {"message": {"content": "?"}, "finish_reason": "length", "logprobs": shown}
    return 200, {}, json.dumps({"choices": [choice]})


def test_first_tokens_without_a_letter_are_in_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False, fault=first_tokens)) as stub:
        served = ["model=served", f"model.endpoint={stub.url}", f"model.name={MODEL}", "paths.cache=cache"]
        quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "blind=false"]
        words = ["data=miqa_sample", "data.limit=12", "protocol=logprobs", "output=out"]
        monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *quiet, *words])
        evaluate_command()
    monkeypatch.setattr("sys.argv", ["report.py", "out", "output=page", "analysis=off"])
    report_command()
    rows = [json.loads(line) for line in Path("out/log_probabilities.jsonl").read_text().splitlines()]
    without = [row["id"] for row in rows if not any(row["letters"])]
    assert 0 < len(without) < len(rows)
    (table,) = Path("page").rglob("unread.csv")
    written = table.read_text(encoding="utf-8")
    assert written.count("no letter is among its likeliest first tokens") == len(without)


def test_replies_with_the_context_hidden_are_counted_and_listed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    replies = ["B", *REPLIES]
    with serving(Stub(completes=False, reply=lambda text: replies[len(text) % len(replies)])) as stub:
        served = ["model=served", f"model.endpoint={stub.url}", f"model.name={MODEL}", "paths.cache=cache"]
        quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]
        words = ["data=miqa_sample", "data.limit=24", "protocol=letter", "output=out"]
        monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *quiet, *words])
        evaluate_command()
    assert "unread blind replies" in capsys.readouterr().out
    rows = [json.loads(line) for line in Path("out/replies_blind.jsonl").read_text().splitlines()]
    unread = [row for row in rows if row["letter"] is None]
    counted = json.loads(Path("out/metrics.json").read_text())["blind"]["replies"]
    assert 0 < len(unread) < len(rows) == counted["n"]
    assert counted["invalid"]["value"] == len(unread) / len(rows)
    monkeypatch.setattr("sys.argv", ["report.py", "out", "output=page", "analysis=off"])
    report_command()
    (table,) = Path("page").rglob("unread.csv")
    written = table.read_text(encoding="utf-8")
    assert written.count(", context hidden") == len(unread)
    assert all(f"{row['id']}, context hidden" in written for row in unread)


def test_a_report_has_each_reply_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replies = ["B", *REPLIES]
    with serving(Stub(completes=False, reply=lambda text: replies[len(text) % len(replies)])) as stub:
        served = ["model=served", f"model.endpoint={stub.url}", f"model.name={MODEL}", "paths.cache=cache"]
        quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "blind=false"]
        words = ["data=miqa_sample", "data.limit=24", "protocol=letter", "output=out"]
        monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *quiet, *words])
        evaluate_command()
    monkeypatch.setattr("sys.argv", ["report.py", "out", "output=page", "analysis=off"])
    report_command()
    rows = [json.loads(line) for line in Path("out/replies.jsonl").read_text().splitlines()]
    unread = [row for row in rows if row["letter"] is None]
    assert {row["reply"]: row["reason"] for row in unread} == REPLIES
    (table,) = Path("page").rglob("unread.csv")
    written = table.read_text(encoding="utf-8")
    assert written.count("\n") == 1 + len(unread)
    for row in unread:
        assert row["id"] in written
    assert "it names several options: A, B" in Path("page/report.html").read_text(encoding="utf-8")


def test_unread_replies_stand_beside_results_and_in_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A difference between chat models may be one of form, which accuracy alone does not tell."""
    monkeypatch.chdir(tmp_path)
    told = {"good": lambda text: "B", "mute": lambda text: "I cannot say." if len(text) % 3 else "B"}
    for name, reply in told.items():
        with serving(Stub(completes=False, reply=reply)) as stub:
            served = ["model=served", f"model.endpoint={stub.url}", f"model.name={MODEL}"]
            quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "blind=false"]
            words = ["data=miqa_sample", "data.limit=24", "protocol=letter", "paths.cache=cache"]
            quiet += [f"output={name}", f"name={name}"]
            monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *quiet, *words])
            evaluate_command()
    share = json.loads(Path("mute/metrics.json").read_text())["replies"]["invalid"]["value"]
    assert 0 < share < 1
    monkeypatch.setattr("sys.argv", ["compare.py", "good", "mute", "output=tables"])
    compare_command()
    header, *rows = csv.reader(Path("tables/systems.csv").read_text(encoding="utf-8").splitlines())
    place = header.index("unread replies")
    assert {row[0]: float(row[place]) for row in rows} == pytest.approx({"good": 0, "mute": share})
    monkeypatch.setattr("sys.argv", ["report.py", "good", "mute", "output=page", "analysis=off"])
    report_command()
    page = Path("page/report.html").read_text(encoding="utf-8")
    said = f"{100 * share:.1f} % of the replies of mute give no choice (unread, or a tie) and count as wrong."
    assert said in page
    assert "replies of good give no choice" not in page
    (table,) = Path("page").rglob("summary.csv")
    assert "unread replies" in table.read_text(encoding="utf-8").splitlines()[0]
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["report.py", "good", "output=alone", "analysis=off"])
    report_command()
    (table,) = Path("alone").rglob("summary.csv")
    assert "unread replies" not in table.read_text(encoding="utf-8"), "every reply could be read"
