"""What answers of an endpoint took: counted, estimated from the first replies, and not paid twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig
from figlang.files import redaction
from figlang.models.served.client import Client
from figlang.models.served.cost import PROBES, Meter
from figlang.models.served.store import Call
from figlang.reports import spending
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

COUNT = 40
CALLS = [
    Call(
        "chat/completions",
        {"model": MODEL, "messages": [{"role": "user", "content": f"{number:05}"}], "max_tokens": 512},
    )
    for number in range(COUNT)
]


def client(stub: Stub, folder: Path, **fields: Any) -> Client:
    settings = {"concurrency": 6, "retries": 0, "timeout": 30.0, **fields}
    return Client(
        ModelConfig(family="served", name=MODEL, name_or_path="", endpoint=stub.url, **settings), str(folder)
    )


def usable(call: Call, answer: Any) -> None:
    return None


def test_the_first_replies_show_what_all_of_them_take(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with serving(Stub()) as stub:
        asking = client(stub, tmp_path, input_price=1, output_price=2, currency="EUR")
        asking.ask(CALLS, usable)
        assert len(stub.requests) == COUNT, "the probes are answers too, and none is asked for twice"
    probed = {body["messages"][0]["content"] for body in stub.requests[:PROBES]}
    assert probed == {f"{number:05}" for number in range(0, COUNT, COUNT // PROBES)}, "spread over all"
    expected = "400 tokens in, 40 out, cost 0.00048 EUR"
    assert f"by the replies to {PROBES} of them, all {COUNT} take about {expected}" in caplog.text
    assert f"{COUNT * 512:,}" not in caplog.text, "max_tokens says little about replies of one letter"


def test_what_a_run_took_is_the_endpoints_count_also_of_stored_answers(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        priced = {"input_price": 1, "output_price": 2, "currency": "EUR"}
        first = client(stub, tmp_path, **priced)
        first.ask(CALLS, usable)
        first.ask(CALLS[:3], usable)
        took = first.meter.taken()
        assert first.meter.taken() == {}
        again = client(stub, tmp_path, **priced)
        again.ask(CALLS, usable)
        assert len(stub.requests) == COUNT
    counted = {"requests": COUNT, "counted": COUNT, "tokens_in": 10 * COUNT, "tokens_out": COUNT}
    cost = pytest.approx((10 * COUNT + 2 * COUNT) / 1e6)
    assert took == again.meter.taken() == {**counted, "cost": cost, "cost_by": "prices", "currency": "EUR"}
    said = "400 tokens in, 40 out, cost 0.00048 EUR (by the prices that are set)."
    assert spending.line(took).endswith(said)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.5},
            {"counted": 2, "tokens_in": 6, "tokens_out": 4, "cost": 1.0, "cost_by": "endpoint"},
        ),
        ({"prompt_tokens": 3, "completion_tokens": 2}, {"counted": 2, "tokens_in": 6, "tokens_out": 4}),
        ({"prompt_tokens": "3", "completion_tokens": True}, {"counted": 0, "tokens_in": 0, "tokens_out": 0}),
        (None, {"counted": 0, "tokens_in": 0, "tokens_out": 0}),
    ],
)
def test_the_endpoints_own_cost_comes_first_and_nothing_is_invented(
    tmp_path: Path, usage: Any, expected: dict[str, Any]
) -> None:
    answer = {"choices": [{"message": {"content": "A"}}], "usage": usage}
    with serving(Stub(fault=lambda stub, body: (200, {}, json.dumps(answer)))) as stub:
        asking = client(stub, tmp_path)
        asking.ask(CALLS[:2], usable)
    assert asking.meter.taken() == {"requests": 2, **expected}


def test_a_server_of_one_connection_at_a_time_answers_each_request_once(tmp_path: Path) -> None:
    # An idle connection that stays open would stop it until the other requests time out and are sent again.
    with serving(Stub(), one_by_one=True) as stub:
        client(stub, tmp_path).ask(CALLS, usable)
    assert len(stub.requests) == COUNT


def test_an_answer_is_stored_with_one_look_at_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    made = redaction.redactor

    def counted() -> Any:
        looks.append(1)
        return made()

    monkeypatch.setattr(redaction, "redactor", counted)
    with serving(Stub()) as stub:
        client(stub, tmp_path).ask(CALLS[:5], usable)
    assert len(looks) == 5


def test_tokens_are_estimated_by_length() -> None:
    meter = Meter(ModelConfig(), bytes_per_token=5)
    chat = Call(
        "chat/completions", {"messages": [{"role": "user", "content": "é" * 10}], "max_completion_tokens": 7}
    )
    assert meter.estimate([Call("completions", {"prompt": "x" * 40, "max_tokens": 1}), chat]) == (12, 8)
