"""Faults of an endpoint as a user sees them, and that nothing is asked for twice. The server is a stub."""

import errno
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models.served.apis.openai_api import OpenAIApi
from figlang.models.served.client import Client
from figlang.models.served.store import Call, Store
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

CALLS = [
    Call("completions", {"model": MODEL, "prompt": f"text {number}", "max_tokens": 1}) for number in range(12)
]

PRICED = {"input_price": 1e6, "output_price": 1e6}  # a token costs 1


def client(stub: Stub, folder: Path, **fields: Any) -> Client:
    settings = {"concurrency": 4, "retries": 2, "timeout": 30.0, **fields}
    return Client(
        ModelConfig(family="served", name=MODEL, name_or_path="", endpoint=stub.url, **settings), str(folder)
    )


def test_certificates_are_read_once() -> None:
    assert OpenAIApi.shared() is OpenAIApi.shared()


def usable(call: Call, answer: Any) -> None:
    return None


def prompts(stub: Stub) -> list[str]:
    return sorted(body["prompt"] for body in stub.requests)


def once(stub: Stub, count: int = len(CALLS)) -> bool:
    return prompts(stub) == sorted(call.body["prompt"] for call in CALLS[:count])


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits to a tenth: the tests check that it waits, and for what."""
    monkeypatch.setattr("figlang.models.served.patience.FIRST", 0.02)
    monkeypatch.setattr("figlang.models.served.patience.LONGEST", 0.05)


def test_answers_come_in_order_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        first = client(stub, tmp_path).ask([*CALLS, CALLS[3]], usable)
        assert once(stub)
        again = client(stub, tmp_path).ask(list(reversed(CALLS)), usable)
        assert once(stub)
    assert [answer["usage"]["prompt_tokens"] for answer in first] == [
        len(f"text {number}") - 3 for number in range(12)
    ] + [3 + 0]
    assert again == list(reversed(first[:12]))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_so_many_requests_are_in_flight_and_no_more(tmp_path: Path, concurrency: int) -> None:
    together = threading.Barrier(concurrency)

    def waits(stub: Stub, body: dict[str, Any]) -> None:
        together.wait(30)  # for as many others: with fewer in flight nobody would be answered

    with serving(Stub(fault=waits)) as stub:
        client(stub, tmp_path, concurrency=concurrency).ask(CALLS, usable)
        assert stub.most == concurrency
        assert once(stub)


def test_a_server_killed_half_way_goes_on_where_it_was(tmp_path: Path) -> None:
    stub = Stub()

    def dies(stub: Stub, body: dict[str, Any]) -> Any:
        return (0, {}, "") if len(stub.requests) > 5 else None

    gone = r"cannot be asked .*is the server running\?.*\(5 of 12 answers are stored; the same command resumes from there\)"
    with serving(stub):
        stub.fault = dies
        with pytest.raises(FiglangError, match=gone):
            client(stub, tmp_path, concurrency=1).ask(CALLS, usable)
    with pytest.raises(FiglangError, match=gone):
        client(stub, tmp_path, concurrency=1).ask(CALLS, usable)
    port = int(stub.url.split(":")[2].removesuffix("/v1"))
    with serving(Stub(), port) as restarted:
        client(restarted, tmp_path).ask(CALLS, usable)
        assert prompts(restarted) == sorted(call.body["prompt"] for call in CALLS[5:])


@pytest.mark.parametrize(
    ("headers", "least"),
    [({}, 0.0), ({"Retry-After": "1"}, 1.0), ({"retry-after-ms": "300"}, 0.3)],
    ids=["429", "429 with Retry-After", "429 with retry-after-ms"],
)
def test_too_many_requests_are_waited_out(tmp_path: Path, headers: dict[str, str], least: float) -> None:
    with serving(
        Stub(fault=lambda stub, body: (429, headers, "{}") if len(stub.requests) == 1 else None)
    ) as stub:
        started = time.perf_counter()
        client(stub, tmp_path).ask(CALLS[:1], usable)
        assert time.perf_counter() - started >= least
        assert len(stub.requests) == 2


FAULTS = {
    "429 for good": (
        (429, {}, '{"error": {"message": "slow down"}}'),
        r"too many requests \(429: .*slow down.*lower model.concurrency",
        3,
    ),
    "500": ((500, {}, "oops"), "answers 500: .*oops", 3),
    "truncated JSON": ((200, {}, '{"choices": [{"te'), "cannot be asked .*its answer is not JSON", 3),
    "a list": ((200, {}, '["x"]'), r'its answer is not a JSON object: \["x"\]', 3),
    "JSON without end": ((200, {}, "[" * 100_000), "its answer is not JSON: maximum recursion depth", 3),
    "an error that says 200": (
        (200, {}, '{"error": {"message": "overloaded", "code": 502}}'),
        "answers without choices: .*overloaded",
        1,
    ),
    "a page": ((200, {}, "<html>hello</html>"), "its answer is not JSON", 3),
    "a short body": ((200, {"Content-Length": "9000", "Connection": "close"}, "{}"), "cannot be asked", 3),
    "bad request": (
        (400, {}, '{"error": {"message": "context length is 2048"}}'),
        "answers 400: .*context length is 2048",
        1,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_tried_again_if_that_can_help_and_then_one_line(tmp_path: Path, name: str) -> None:
    fault, message, tries = FAULTS[name]
    with serving(Stub()) as stub:
        client(stub, tmp_path).ask(CALLS[:3], usable)
        stub.fault = lambda stub, body: fault
        with pytest.raises(FiglangError, match=message) as failed:
            client(stub, tmp_path, concurrency=1).ask(CALLS[:5], usable)
        assert "\n" not in str(failed.value)
        assert "(3 of 5 answers are stored" in str(failed.value)
        assert len(stub.requests) == 3 + tries
        stub.fault = lambda stub, body: None
        client(stub, tmp_path).ask(CALLS[:5], usable)
        assert len(stub.requests) == 3 + tries + 2


@pytest.mark.parametrize(
    "usage", ["many", [1], {"prompt_tokens": "many", "completion_tokens": float("nan")}, None]
)
def test_an_answer_with_odd_counts_or_half_a_character_is_stored(tmp_path: Path, usage: Any) -> None:
    body = json.dumps({"choices": [{"text": "so \ud83d"}], "usage": usage})
    with serving(Stub(fault=lambda stub, _: (200, {}, body))) as stub:
        asking = client(stub, tmp_path, **PRICED)
        assert asking.ask(CALLS[:1], usable)[0]["choices"] == [{"text": "so ?"}]
        assert asking.meter.cost == 2 + 1  # "text 0" by its length, and the one token that was asked for
        asking.ask(CALLS[:1], usable)
        assert len(stub.requests) == 1


def test_a_fault_that_passes_is_not_seen(tmp_path: Path) -> None:
    faults = iter([(500, {}, ""), (200, {}, '{"cho'), (429, {}, "")])
    with serving(Stub(fault=lambda stub, body: next(faults, None))) as stub:
        assert len(client(stub, tmp_path, retries=3, concurrency=1).ask(CALLS[:2], usable)) == 2
        assert len(stub.requests) == 5


def test_a_hung_socket_is_given_up(tmp_path: Path) -> None:
    with serving(Stub(delay=1.0)) as stub:
        with pytest.raises(FiglangError, match=r"no answer within model.timeout=0.2 seconds.*\(0 of 1"):
            client(stub, tmp_path, timeout=0.2, retries=1).ask(CALLS[:1], usable)
        assert len(stub.requests) == 2


@pytest.mark.parametrize("given", ["wrong-key", None])
def test_a_wrong_key_is_said_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv("STUB_KEY", raising=False)
    if given:
        monkeypatch.setenv("STUB_KEY", given)
    with serving(Stub(key="right-key")) as stub:
        wanted = (
            r"refuses the key in the environment variable STUB_KEY"
            if given
            else "needs a key, but none is in"
        )
        with pytest.raises(FiglangError, match=wanted) as failed:
            client(stub, tmp_path, key_env="STUB_KEY").ask(CALLS, usable)
        assert "wrong-key" not in str(failed.value)
        monkeypatch.setenv("STUB_KEY", "right-key")
        client(stub, tmp_path, key_env="STUB_KEY").ask(CALLS, usable)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"text 3" in written
    assert b"-key" not in written


@pytest.mark.parametrize("key", ["sk-secret\n", " sk-secret", "sk-secret\r\nX: y", "sk-sécret"])
def test_a_key_that_cannot_be_sent_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("STUB_KEY", key)
    with serving(Stub()) as stub:
        with pytest.raises(
            FiglangError, match="the environment variable STUB_KEY holds white space or characters"
        ) as failed:
            client(stub, tmp_path, key_env="STUB_KEY").ask(CALLS, usable)
        assert not stub.requests
    assert "cret" not in str(failed.value)


def test_a_server_that_repeats_the_key_is_not_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "sk-secret")
    with serving(
        Stub(fault=lambda stub, body: (400, {}, '{"error": {"message": "bad header Bearer sk-secret"}}'))
    ) as stub:
        with pytest.raises(FiglangError, match="bad header Bearer …") as failed:
            client(stub, tmp_path, key_env="STUB_KEY").ask(CALLS, usable)
        assert "sk-secret" not in str(failed.value)


def test_an_answer_of_no_use_ends_the_asking_and_is_not_stored(tmp_path: Path) -> None:
    def third(call: Call, answer: dict[str, Any]) -> str | None:
        return "an answer holds no log-probabilities" if len(stub.requests) == 3 else None

    with serving(Stub()) as stub:
        with pytest.raises(FiglangError, match=r"no log-probabilities \(2 of 12 answers are stored"):
            client(stub, tmp_path, concurrency=1).ask(CALLS, third)
        client(stub, tmp_path).ask(CALLS, usable)
        assert len(stub.requests) == 13


def test_a_full_disk_is_said_and_costs_what_was_in_flight_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, room = os.write, [1500]

    def full(file: int, data: bytes) -> int:
        taken = data[: room[0]]
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= len(taken)
        return write(file, taken)

    with serving(Stub()) as stub:
        with monkeypatch.context() as patched:
            patched.setattr("figlang.models.served.store.os.write", full)
            with pytest.raises(
                FiglangError, match=r"cannot store an answer in .* \(No space left on device\); make space"
            ) as failed:
                client(stub, tmp_path, concurrency=1).ask(CALLS, usable)
        asked = len(stub.requests)
        assert 2 < asked < 12
        (path,) = (tmp_path / "served").glob("*.jsonl")
        # No line is half written.
        assert sum("answer" in json.loads(line) for line in path.read_text().splitlines()) == asked - 1
        assert f"({asked - 1} of 12 answers are stored" in str(failed.value)
        client(stub, tmp_path).ask(CALLS, usable)
        assert len(stub.requests) == 13  # the one that could not be stored came twice


def test_a_half_written_line_is_passed_over_and_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(Stub()) as stub:
        asking = client(stub, tmp_path, concurrency=1)
        asking.ask(CALLS[:3], usable)
        path = asking.store.path
        path.write_bytes(path.read_bytes()[:-20])
        asking.ask(CALLS[:4], usable)
        assert prompts(stub) == ["text 0", "text 1", "text 2", "text 2", "text 3"]
        assert "1 damaged line skipped" in caplog.text
        asking.ask(CALLS[:4], usable)
        assert len(stub.requests) == 5
    assert len(path.read_text().splitlines()) == 5


def test_a_whole_line_without_its_break_is_kept(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        asking = client(stub, tmp_path, concurrency=1)
        asking.ask(CALLS[:2], usable)
        asking.store.path.write_bytes(asking.store.path.read_bytes()[:-1])
        asking.ask(CALLS[:3], usable)
        asking.ask(CALLS[:3], usable)
        assert len(stub.requests) == 3


def test_one_process_asks_at_a_time(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        asking = client(stub, tmp_path)
        with Store(asking.store.path), pytest.raises(FiglangError, match="another process is asking"):
            asking.ask(CALLS, usable)
        assert not stub.requests


def interrupt_in_flight(stub: Stub) -> None:
    while len(stub.requests) < 4:
        time.sleep(0.01)
    signal.raise_signal(signal.SIGINT)


def test_interrupting_waits_for_what_is_paid_for(tmp_path: Path) -> None:
    with serving(Stub(delay=0.4)) as stub:
        threading.Thread(target=interrupt_in_flight, args=[stub], daemon=True).start()
        with pytest.raises(
            FiglangError, match=r"interrupted \(\d+ of 12 answers are stored; the same command resumes"
        ):
            client(stub, tmp_path, concurrency=3).ask(CALLS, usable)
        before = len(stub.requests)
        assert 0 < before < 12
        client(stub, tmp_path, concurrency=12).ask(CALLS, usable)
        assert once(stub)


def test_interrupting_does_not_wait_for_another_try(tmp_path: Path) -> None:
    slow_down = (429, {"Retry-After": "60"}, "{}")
    # The first two are answered, however late the second is on a busy machine.
    with serving(Stub(fault=lambda stub, body: None if body in stub.requests[:2] else slow_down)) as stub:
        threading.Thread(target=interrupt_in_flight, args=[stub], daemon=True).start()
        started = time.perf_counter()
        with pytest.raises(FiglangError, match=r"interrupted \(2 of 12 answers are stored"):
            client(stub, tmp_path, concurrency=2).ask(CALLS, usable)
        assert time.perf_counter() - started < 30


def test_without_the_package_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(FiglangError, match=r"install it with `pip install 'figlang\[served\]'`"):
        client(Stub(url="http://127.0.0.1:1"), tmp_path)


def test_cost_is_estimated_counted_and_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with serving(Stub()) as stub:
        with pytest.raises(
            FiglangError,
            match=r"reading the prompts alone would cost about \d+ USD, more than model.max_cost=5",
        ):
            client(stub, tmp_path, **PRICED, max_cost=5).ask(CALLS, usable)
        assert not stub.requests
        asking = client(stub, tmp_path, **PRICED, max_cost=25, concurrency=12)
        with pytest.raises(FiglangError, match=r"could exceed model.max_cost=25, and .* is spent"):
            asking.ask(CALLS, usable)
        assert 0 < asking.meter.cost <= 25
        spent = asking.meter.cost
        assert "12 requests to" in caplog.text
        assert "tokens in, at most 12 out, cost" in caplog.text
        rest = client(stub, tmp_path, **PRICED, max_cost=100)
        rest.ask(CALLS, usable)
        assert once(stub)
        assert spent + rest.meter.cost == sum(len(f"text {number}") - 3 + 1 for number in range(12))
