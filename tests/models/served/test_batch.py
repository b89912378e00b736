"""Batch files and dry runs: what is written, read back and said, and that nothing is sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models.served import batch
from figlang.models.served.chatting import unspoken
from figlang.models.served.client import Client
from figlang.models.served.store import Call, Store
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

QUIET = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "blind=false", "data.limit=6"]


def run(monkeypatch: pytest.MonkeyPatch, stub: Stub, *words: str) -> None:
    served = [*stub.words, "paths.cache=cache"]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *QUIET, "output=out", *words])
    evaluate_command()


def answered(folder: Path, stub: Stub) -> int:
    """Answer the requests of a folder as the service of batches does. Returns how many there were."""
    lines = []
    for path in sorted(folder.glob("requests-*.jsonl")):
        for text in path.read_text().splitlines():
            row = json.loads(text)
            assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
            status, _, body = stub.answer(row["url"], row["body"])
            response = {"status_code": status, "request_id": "r", "body": json.loads(body)}
            lines.append(
                json.dumps({"id": "b", "custom_id": row["custom_id"], "response": response, "error": None})
            )
    number = len(list(folder.glob("results-*")))
    (folder / f"results-{number}.jsonl").write_text("\n".join(reversed(lines)) + "\n")
    return len(lines)


def test_a_batch_gives_what_requests_give_at_half_the_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["data=miqa_sample", "protocol=two_step", "model.input_price=1", "model.output_price=2"]
    with serving(Stub(completes=False, reply=lambda text: "A" if "(A)" in text else "It is easy.")) as stub:
        run(monkeypatch, stub, *words, "output=straight")
        straight = len(stub.seen)
        (tmp_path / "cache").rename(tmp_path / "before")
        rounds = []
        for _ in range(2):  # the choice is asked after the meaning is known
            with pytest.raises(SystemExit):
                run(monkeypatch, stub, *words, "model.batch=batch", "output=batched")
            assert "send batch/requests-1.jsonl as a batch" in capsys.readouterr().err
            rounds.append(answered(tmp_path / "batch", stub))
        run(monkeypatch, stub, *words, "model.batch=batch", "output=batched")
        assert len(stub.seen) == straight == sum(rounds), "no request was sent beside the batches"
    for name in ("predictions.jsonl", "replies.jsonl"):
        assert (tmp_path / "straight" / name).read_bytes() == (tmp_path / "batched" / name).read_bytes()
    took, half = (
        json.loads((tmp_path / folder / "metrics.json").read_text())["usage"]
        for folder in ("straight", "batched")
    )
    assert half["tokens_in"] == took["tokens_in"]
    assert half["cost"] == pytest.approx(took["cost"] / 2)


CALLS = [
    Call("chat/completions", {"model": MODEL, "messages": [{"role": "user", "content": str(number)}]})
    for number in range(3)
]


def result(call: Call, status: int, body: dict[str, Any]) -> str:
    return json.dumps({"custom_id": call.key, "response": {"status_code": status, "body": body}})


def test_failures_are_told_and_refusals_are_answers(tmp_path: Path) -> None:
    good = {"choices": [{"message": {"content": "A"}}]}
    lines = [
        result(CALLS[0], 200, good),
        result(CALLS[1], 500, {"error": {"message": "overloaded"}}),
        result(CALLS[2], 400, {"error": {"message": "blocked by the content filter"}}),
        json.dumps({"custom_id": "of another command", "response": {"status_code": 200, "body": good}}),
    ]
    (tmp_path / "results.jsonl").write_text("\n".join(lines))
    with Store(tmp_path / "store" / "answers.jsonl") as store:
        stored, failed = batch.read(tmp_path, CALLS, store, unspoken)
        assert stored == 2
        assert failed == ['results.jsonl line 2: 500, {"error": {"message": "overloaded"}}']
        assert CALLS[1] not in store
        assert batch.read(tmp_path, CALLS[:1], store, unspoken) == (0, [])


def test_a_failure_that_a_later_batch_made_good_is_not_told(tmp_path: Path) -> None:
    good = {"choices": [{"message": {"content": "A"}}]}
    for number in (1, 2):  # the same requests failed twice
        lines = [result(call, 500, {"error": {"message": f"try {number}"}}) for call in CALLS]
        (tmp_path / f"results{number}.jsonl").write_text("\n".join(lines))
    (tmp_path / "results3.jsonl").write_text(result(CALLS[0], 200, good) + "\n" + result(CALLS[1], 200, good))
    with Store(tmp_path / "store" / "answers.jsonl") as store:
        stored, failed = batch.read(tmp_path, CALLS, store, unspoken)
        assert stored == 2
        assert failed == ['results2.jsonl line 3: 500, {"error": {"message": "try 2"}}']
        assert batch.read(tmp_path, CALLS[:2], store, unspoken) == (0, [])


def test_a_reply_with_a_line_separator_is_one_line(tmp_path: Path) -> None:
    # JSON may hold these two characters as they are, and Python takes them for the end of a line.
    good = {"choices": [{"message": {"content": "A\u2028B\u0085C"}}]}
    row = {"custom_id": CALLS[0].key, "response": {"status_code": 200, "body": good}}
    (tmp_path / "results.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    with Store(tmp_path / "store" / "answers.jsonl") as store:
        assert batch.read(tmp_path, CALLS, store, unspoken) == (1, [])
        assert store[CALLS[0]] == good


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"custom_id": "x", "response": 5}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "results.jsonl").write_text(f"\n{line}\n")
    with (
        Store(tmp_path / "store" / "answers.jsonl") as store,
        pytest.raises(FiglangError, match="line 2 is not a result of a batch"),
    ):
        batch.read(tmp_path, CALLS, store, unspoken)


# A whole row of MiQA has three statements to rate, and the half that data.limit leaves has two.
@pytest.mark.parametrize(
    ("protocol", "requests"), [("protocol=letter", 6), ("protocol=two_step", 9), ("protocol=score", 5)]
)
def test_a_dry_run_sends_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    protocol: str,
    requests: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    prices = ["model.input_price=1", "model.output_price=2", "model.concurrency=2", "model.speed=10"]
    with serving(Stub(completes=False)) as stub:
        run(monkeypatch, stub, "data=miqa_sample", protocol, *prices, "model.dry_run=true")
        assert stub.requests == []
    said = next(record.getMessage() for record in caplog.records if "dry run" in record.getMessage())
    assert f"dry run: {requests} requests to {stub.url} (0 more are stored)" in said
    assert "log-probabilities of prompts" not in caplog.text, "nobody has asked what the endpoint can do"
    assert "USD" in said
    assert "at 10 tokens a second in each of 2 at a time" in said
    assert said.endswith("nothing was sent")
    assert not (tmp_path / "out").exists()


def test_a_dry_run_knows_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False)) as stub:
        run(monkeypatch, stub, "data=miqa_sample", "protocol=letter")
        asked = len(stub.requests)
        run(monkeypatch, stub, "data=miqa_sample", "protocol=letter", "model.dry_run=true")
        assert len(stub.requests) == asked
    assert "dry run: 0 requests" in caplog.text
    assert "(6 more are stored)" in caplog.text


def test_a_dry_run_of_likelihoods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub()) as stub:
        run(monkeypatch, stub, "data=figqa_sample", "scoring=clean", "model.dry_run=true")
        assert stub.requests == []
    assert "nothing was sent" in caplog.text


def test_a_batch_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FiglangError, match="cannot be written to"):
        batch.write(tmp_path / "file" / "folder", CALLS)
    settings = ModelConfig(family="served", name=MODEL, name_or_path="", endpoint="http://h", batch="b")
    assert Client(settings, str(tmp_path)).meter.price(1e6, 0) == 0
