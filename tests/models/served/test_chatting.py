"""The fields of chat requests, and what is read from answers: reasoning apart, counted, and first tokens."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig, ProtocolConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served import chatting
from figlang.models.served.endpoint import Endpoint, connect
from figlang.types import Turn
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

CHAT = (Turn("system", "Be brief."), Turn("user", "Hm?"))
TOP = [{"token": " B", "logprob": -0.1, "bytes": None}, {"token": "A", "logprob": -3.0, "bytes": None}]


def thinking(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
    """A server that sends reasoning and log-probabilities apart from the text."""
    if "messages" not in body or body["messages"][-1]["content"] != "Hm?":
        return None
    message = {"role": "assistant", "content": "B", "reasoning_content": "It is ironic."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [{"token": " B", "logprob": -0.1, "top_logprobs": TOP}]}
    details = {"reasoning_tokens": 4}
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "completion_tokens_details": details}
    return 200, {}, json.dumps({"choices": [choice], "usage": usage})


def opened(stub: Stub, folder: Path, **fields: Any) -> Endpoint:
    settings = {"name": MODEL, "name_or_path": "", "retries": 0, **fields}
    return connect(ModelConfig(family="served", endpoint=stub.url, **settings), str(folder), "reply")


def test_reasoning_is_apart_and_its_tokens_are_counted(tmp_path: Path) -> None:
    with serving(Stub(completes=False, fault=thinking)) as stub:
        endpoint = opened(stub, tmp_path, input_price=1.0, output_price=2.0)
        ((reply,),) = endpoint.chat([CHAT], SamplingConfig())
        took = endpoint.taken()
    assert (reply.text, reply.reasoning) == ("B", "It is ironic.")
    assert reply.usage == {"tokens_in": 9, "tokens_out": 5, "tokens_reasoning": 4}
    assert took["tokens_reasoning"] == 4
    assert took["cost"] == pytest.approx((9 + 2 * 5) / 1e6), "reasoning is a part of what comes out"


def test_words_by_which_a_model_declines_a_schema_are_its_reply() -> None:
    message = {"content": None, "refusal": "I cannot help with that."}
    reply = chatting.reply_of({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (reply.text, reply.refused) == ("I cannot help with that.", False)
    said = {"message": {"content": "B", "refusal": None}, "finish_reason": "stop"}
    assert chatting.reply_of({"choices": [said]}).text == "B"


def test_settings_become_fields_of_the_request(tmp_path: Path) -> None:
    settings = ProtocolConfig(chat_template_kwargs={"enable_thinking": False}, reasoning_effort="low")
    with serving(Stub(completes=False, fault=thinking)) as stub:
        endpoint = opened(stub, tmp_path, extra_body={"top_k": 20})
        endpoint.chat([CHAT], SamplingConfig(), settings)
        body = stub.seen[-1]
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["reasoning_effort"], body["top_k"]) == ("low", 20)
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hm?"},
    ]
    assert endpoint.facts["extra_body"] == '{"top_k": 20}'


def test_the_usual_request_has_no_field_more_than_before(tmp_path: Path) -> None:
    with serving(Stub(completes=False)) as stub:
        opened(stub, tmp_path).chat(["Hm?"], SamplingConfig(max_tokens=16))
        assert set(stub.seen[-1]) == {"model", "messages", "max_tokens", "temperature"}


@pytest.mark.parametrize("form", ["guided_choice", "structured_outputs", "response_format"])
def test_a_server_may_allow_letters_only(form: str) -> None:
    fields = chatting.constrained(ProtocolConfig(constrain=form), 3)
    assert list(fields) == [form]
    assert '["A", "B", "C"]' in json.dumps(fields)
    assert chatting.constrained(ProtocolConfig(constrain=form), 0) == {}
    assert chatting.constrained(ProtocolConfig(), 3) == {}


def test_first_tokens_are_shown_or_refused(tmp_path: Path) -> None:
    with serving(Stub(completes=False, fault=thinking)) as stub:
        endpoint = opened(stub, tmp_path)
        assert endpoint.first_tokens([CHAT], 20, ProtocolConfig()) == [[(" B", -0.1), ("A", -3.0)]]
        assert (stub.seen[-1]["top_logprobs"], stub.seen[-1]["max_tokens"]) == (20, 1)
        with pytest.raises(FiglangError, match="shows no likeliest tokens of a reply"):
            endpoint.first_tokens([(Turn("user", "And?"),)], 20, ProtocolConfig())
