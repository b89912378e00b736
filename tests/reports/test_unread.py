"""Every reply that cannot be read stands in a report with its reason."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.commands.compare import main as compare_command
from figlang.commands.report import main as report_command
from tests.needing import needs
from tests.stub_server import Stub, serving

needs("openai", "needs the extra `served`")

QUIET = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]
Call = Callable[..., None]
REPLIES = {
    "": "it is empty",
    "I cannot say.": "it names no option",
    "A or B": "it names several options: A, B",
}


def unread(text: str) -> str:
    """A reply to a message: B, or one of those that cannot be read."""
    replies = ["B", *REPLIES]
    return replies[len(text) % len(replies)]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command with some words, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def typed(command: Callable[[], None], *words: str) -> None:
        monkeypatch.setattr("sys.argv", ["x.py", *words])
        command()

    return typed


def evaluate(call: Call, stub: Stub, *words: str) -> None:
    """Ask a stub about the sample of MiQA."""
    with serving(stub):
        served = [*stub.words, "paths.cache=cache"]
        call(evaluate_command, *served, *QUIET, "data=miqa_sample", *words)


def report(call: Call, *results: str) -> str:
    """Make a report into the folder `page`. Returns its table of what could not be read."""
    call(report_command, *results, "output=page", "analysis=off")
    (table,) = Path("page").rglob("unread.csv")
    return table.read_text(encoding="utf-8")


def first_tokens(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
    """A server that shows a letter for every second message."""
    if not body.get("top_logprobs"):
        return None
    token = "A" if len(body["messages"][-1]["content"]) % 2 else "The"
    shown = {"content": [{"top_logprobs": [{"token": token, "logprob": -1.0}]}]}
    choice = {"message": {"content": "?"}, "finish_reason": "length", "logprobs": shown}
    return 200, {}, json.dumps({"choices": [choice]})


def test_first_tokens_without_a_letter_are_in_it_too(call: Call) -> None:
    stub = Stub(completes=False, fault=first_tokens)
    evaluate(call, stub, "data.limit=12", "protocol=logprobs", "blind=false", "output=out")
    written = report(call, "out")
    rows = [json.loads(line) for line in Path("out/log_probabilities.jsonl").read_text().splitlines()]
    without = [row["id"] for row in rows if not any(row["letters"])]
    assert 0 < len(without) < len(rows)
    assert written.count("no letter is among its likeliest first tokens") == len(without)


def test_replies_with_the_context_hidden_are_counted_and_listed_too(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    stub = Stub(completes=False, reply=unread)
    evaluate(call, stub, "data.limit=24", "protocol=letter", "output=out")
    assert "unread blind replies" in capsys.readouterr().out
    rows = [json.loads(line) for line in Path("out/replies_blind.jsonl").read_text().splitlines()]
    lost = [row for row in rows if row["letter"] is None]
    counted = json.loads(Path("out/metrics.json").read_text())["blind"]["replies"]
    assert 0 < len(lost) < len(rows) == counted["n"]
    assert counted["invalid"]["value"] == len(lost) / len(rows)
    written = report(call, "out")
    assert written.count(", context hidden") == len(lost)
    assert all(f"{row['id']}, context hidden" in written for row in lost)


def test_a_report_has_each_reply_with_its_reason(call: Call) -> None:
    stub = Stub(completes=False, reply=unread)
    evaluate(call, stub, "data.limit=24", "protocol=letter", "blind=false", "output=out")
    written = report(call, "out")
    rows = [json.loads(line) for line in Path("out/replies.jsonl").read_text().splitlines()]
    lost = [row for row in rows if row["letter"] is None]
    assert {row["reply"]: row["reason"] for row in lost} == REPLIES
    assert written.count("\n") == 1 + len(lost)
    for row in lost:
        assert row["id"] in written
    assert "it names several options: A, B" in Path("page/report.html").read_text(encoding="utf-8")


def test_unread_replies_stand_beside_results_and_in_comparisons(call: Call) -> None:
    """A difference between chat models may be one of form, which accuracy alone does not tell."""
    told = {"good": lambda text: "B", "mute": lambda text: "I cannot say." if len(text) % 3 else "B"}
    for name, reply in told.items():
        stub = Stub(completes=False, reply=reply)
        named = ["blind=false", f"output={name}", f"name={name}"]
        evaluate(call, stub, "data.limit=24", "protocol=letter", *named)
    share = json.loads(Path("mute/metrics.json").read_text())["replies"]["invalid"]["value"]
    assert 0 < share < 1
    call(compare_command, "good", "mute", "output=tables")
    header, *rows = csv.reader(Path("tables/systems.csv").read_text(encoding="utf-8").splitlines())
    place = header.index("unread replies")
    assert {row[0]: float(row[place]) for row in rows} == pytest.approx({"good": 0, "mute": share})
    report(call, "good", "mute")
    page = Path("page/report.html").read_text(encoding="utf-8")
    said = f"{100 * share:.1f} % of the replies of mute give no choice (unread, or a tie) and count as wrong."
    assert said in page
    assert "replies of good give no choice" not in page
    (table,) = Path("page").rglob("summary.csv")
    assert "unread replies" in table.read_text(encoding="utf-8").splitlines()[0]
    call(report_command, "good", "output=alone", "analysis=off")
    (table,) = Path("alone").rglob("summary.csv")
    assert "unread replies" not in table.read_text(encoding="utf-8"), "every reply could be read"
