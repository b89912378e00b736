"""Requests and their answers on disk: known by content, and readable by people."""

import json
from pathlib import Path

from figlang.config import ModelConfig
from figlang.models.served.client import Client
from figlang.models.served.store import Call
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")


def test_a_request_is_known_by_its_content() -> None:
    one = Call("completions", {"a": 1, "b": {"c": 2}})
    assert one.key == Call("completions", {"b": {"c": 2}, "a": 1}).key
    assert (
        len(
            {
                one.key,
                Call("chat/completions", one.body).key,
                Call("completions", {"a": 1, "b": {"c": 3}}).key,
            }
        )
        == 3
    )


def test_what_is_stored_can_be_read_by_people(tmp_path: Path) -> None:
    call = Call("completions", {"model": MODEL, "prompt": "a text", "max_tokens": 1})
    with serving(Stub()) as stub:
        model = ModelConfig(family="served", name=MODEL, name_or_path="", endpoint=stub.url)
        asking = Client(model, str(tmp_path))
        asking.ask([call], lambda call, answer: None)
    (line,) = asking.store.path.read_text().splitlines()
    row = json.loads(line)
    assert (row["key"], row["route"], row["body"]) == (call.key, "completions", call.body)
    assert row["answer"]["choices"][0]["text"] == " so"
