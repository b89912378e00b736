"""Anthropic's and Google's interfaces by their own packages, against stubs of their wire formats."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig, ProtocolConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served.abilities import Abilities
from figlang.models.served.client import Client
from figlang.models.served.endpoint import Endpoint, connect
from figlang.types import Reply, Turn
from tests.needing import needs
from tests.stub_apis import AnthropicStub, GoogleStub
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")
needs("anthropic", "needs the extra `anthropic`")
needs("google.genai", "needs the extra `google`")

STUBS: dict[str, type[Stub]] = {"anthropic": AnthropicStub, "google": GoogleStub}
KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "authorization"), "google": ("GEMINI_API_KEY", "x-goog-api-key")}
SAID = (Turn("system", "Be brief."), Turn("user", "Hm?"), Turn("assistant", "Well."), Turn("user", "And?"))


def open_chat(api: str, stub: Stub, folder: Path, **fields: Any) -> Endpoint:
    address = stub.url.removesuffix("/v1")
    settings = {"name": MODEL, "name_or_path": "", "retries": 0, "timeout": 20.0, **fields}
    model = ModelConfig(family="served", api=api, endpoint=address, **settings)
    return connect(model, str(folder), "reply")


@pytest.mark.parametrize("api", STUBS)
def test_a_conversation_is_sent_and_reasoning_kept_apart(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header = KEYS[api]
    monkeypatch.setenv(variable, "sk-of-the-environment")
    with serving(STUBS[api](reply=lambda message: "<think>It is ironic.</think>B")) as stub:
        endpoint = open_chat(api, stub, tmp_path)
        settings = ProtocolConfig(reasoning_effort="low", constrain="response_format")
        ((reply,),) = endpoint.chat([SAID], SamplingConfig(max_tokens=50), settings, [2])
        assert stub.headers[-1][header].removeprefix("Bearer ") == "sk-of-the-environment"
    assert (reply.text, reply.reasoning) == ("B", "It is ironic.")
    assert reply.usage is not None
    assert reply.usage["tokens_in"] == 10
    body = stub.seen[-1]
    assert "Be brief." in json.dumps(body.get("system") or body.get("systemInstruction"))
    turns = body.get("messages") or body["contents"]
    assert [turn["role"] for turn in turns] == [
        "user",
        "assistant" if api == "anthropic" else "model",
        "user",
    ]
    assert '"enum": ["A", "B"]' in json.dumps(body)
    assert "low" in json.dumps(body).lower()


def test_anthropic_gets_one_of_two_fields_of_sampling(tmp_path: Path) -> None:
    # Claude since 4.1 refuses a request with both. A top_p of 1 leaves nothing out.
    with serving(AnthropicStub(reply=lambda message: "A")) as stub:
        endpoint = open_chat("anthropic", stub, tmp_path)
        endpoint.chat([SAID], SamplingConfig(temperature=0.7))
        assert (stub.seen[-1]["temperature"], stub.seen[-1].get("top_p")) == (0.7, None)
        endpoint.chat([SAID], SamplingConfig(temperature=1.0, top_p=0.9))
        assert (stub.seen[-1].get("temperature"), stub.seen[-1]["top_p"]) == (None, 0.9)


@pytest.mark.parametrize("api", STUBS)
def test_an_empty_reply_at_the_limit_is_cut(api: str, tmp_path: Path) -> None:
    replies = iter(["A"] * 3 + [""] * 9)
    with serving(STUBS[api](reply=lambda message: next(replies) if message == "Hm?" else "A")) as stub:
        endpoint = open_chat(api, stub, tmp_path)
        for _ in range(3):
            next(replies)
        ((reply,),) = endpoint.chat(["Hm?"], SamplingConfig())
    assert (reply.text, reply.cut, reply.refused) == ("", True, False)


def test_a_blocked_prompt_counts_as_refused(tmp_path: Path) -> None:
    with serving(GoogleStub(reply=lambda message: "blocked" if message == "Hm?" else "A")) as stub:
        ((reply,),) = open_chat("google", stub, tmp_path).chat(["Hm?"], SamplingConfig())
    assert reply == Reply("", refused=True, usage=reply.usage)


def answering(body: str) -> Any:
    """A server that answers a question, and not the probes, with a body."""
    return lambda stub, asked: (200, {}, body) if "Hm?" in json.dumps(asked) else None


@pytest.mark.parametrize("body", ["{}", '{"candidates": []}', '{"usageMetadata": {"promptTokenCount": 9}}'])
def test_an_answer_without_candidates_that_is_not_blocked_is_no_refusal(tmp_path: Path, body: str) -> None:
    with serving(GoogleStub(fault=answering(body))) as stub:
        endpoint = open_chat("google", stub, tmp_path)
        with pytest.raises(FiglangError, match=r"without choices|holds no message") as caught:
            endpoint.chat(["Hm?"], SamplingConfig())
    assert "\n" not in str(caught.value)


ROUTED = '{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}'


@pytest.mark.parametrize(("body", "said"), [("{}", "it has no content"), (ROUTED, "busy")])
def test_an_answer_without_content_is_no_empty_reply(tmp_path: Path, body: str, said: str) -> None:
    with serving(AnthropicStub(fault=answering(body))) as stub:
        endpoint = open_chat("anthropic", stub, tmp_path)
        with pytest.raises(FiglangError, match=rf"answers without choices: .*{said}.*\(0 of 1 answers"):
            endpoint.chat(["Hm?"], SamplingConfig())


@pytest.mark.parametrize("api", STUBS)
def test_errors_are_one_line(api: str, tmp_path: Path) -> None:
    with serving(STUBS[api]()) as stub, pytest.raises(FiglangError, match="404") as caught:
        open_chat(api, stub, tmp_path, name="another")
    assert "\n" not in str(caught.value)
    with serving(STUBS[api]()) as stub:
        endpoint = open_chat(api, stub, tmp_path / "b")
        with pytest.raises(FiglangError, match="has no logprobs"):
            endpoint.first_tokens([SAID], 20, ProtocolConfig())
    with pytest.raises(FiglangError, match="is the server running"):
        endpoint.chat(["Is anybody there?"], SamplingConfig())


@pytest.mark.parametrize("api", STUBS)
def test_what_needs_log_probabilities_is_refused(api: str, tmp_path: Path) -> None:
    with serving(STUBS[api]()) as stub:
        model = ModelConfig(
            family="served", api=api, endpoint=stub.url.removesuffix("/v1"), name=MODEL, name_or_path=""
        )
        with pytest.raises(
            FiglangError,
            match=r"can do scoring=letter \(figlang evaluate\) and ask=reply \(figlang judge\)",
        ):
            connect(model, str(tmp_path), "prompts")


def test_each_interface_of_an_address_has_its_own_answers_and_signature(tmp_path: Path) -> None:
    models = [
        ModelConfig(family="served", api=api, endpoint="http://127.0.0.1:1/v1", name=MODEL, name_or_path="")
        for api in ("openai", *STUBS)
    ]
    clients = [Client(model, str(tmp_path)) for model in models]
    assert len({client.store.path for client in clients}) == 3
    assert len({str(Endpoint(client, Abilities()).facts) for client in clients}) == 3


def test_an_address_without_a_path_gets_the_usual_one() -> None:
    found = {
        api: ModelConfig(
            family="served", api=api, endpoint="http://127.0.0.1:1", name="x", name_or_path=""
        ).base_url
        for api in ("openai", *STUBS)
    }
    assert {api: url.removeprefix("http://127.0.0.1:1/") for api, url in found.items()} == {
        "openai": "v1",
        "anthropic": "v1",
        "google": "v1beta",
    }


@pytest.mark.parametrize("api", STUBS)
def test_addresses_and_keys_have_defaults(api: str) -> None:
    model = ModelConfig(family="served", api=api, name="x", name_or_path="")
    assert str(model.endpoint).startswith("https://")
    assert model.key_env == KEYS[api][0]
    with pytest.raises(FiglangError, match=r"model\.batch writes OpenAI's format"):
        ModelConfig(family="served", api=api, name="x", name_or_path="", batch="folder")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("figlang.models.served.patience.FIRST", 0.02)


PASSING: dict[str, tuple[int, dict[str, str], str]] = {
    "lost connection": (0, {}, ""),
    "half an object": (200, {}, '{"choices": [{"mess'),
    "a page": (200, {"Content-Type": "text/html"}, "<html>bad gateway</html>"),
    "a short body": (200, {"Content-Length": "9000", "Connection": "close"}, "{}"),
    "429": (429, {}, '{"error": {"message": "slow down"}}'),
    "529": (529, {}, "{}"),
    "500": (500, {}, "oops"),
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("api", STUBS)
@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_is_not_seen(api: str, name: str, tmp_path: Path) -> None:
    with serving(STUBS[api](reply=lambda message: "A")) as stub:
        endpoint = open_chat(api, stub, tmp_path, retries=2)
        faults = iter([PASSING[name], PASSING[name]])
        stub.fault = lambda stub, body: next(faults, None)
        ((reply,),) = endpoint.chat(["Hm?"], SamplingConfig())
        assert reply.text == "A"
        assert len(stub.seen) == 3


WAITS: dict[str, tuple[dict[str, str], str]] = {
    "a header": ({"Retry-After": "1"}, "{}"),
    "Google's body": (
        {},
        '{"error": {"code": 429, "message": "quota", "details": [{"@type": "type.googleapis.com/google.rpc.'
        'RetryInfo", "retryDelay": "1s"}]}}',
    ),
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("api", "name"), [("anthropic", "a header"), ("google", "a header"), ("google", "Google's body")]
)
def test_a_server_says_how_long_to_wait(api: str, name: str, tmp_path: Path) -> None:
    with serving(STUBS[api](reply=lambda message: "A")) as stub:
        endpoint = open_chat(api, stub, tmp_path, retries=1)
        stub.fault = lambda stub, body: (429, *WAITS[name]) if len(stub.seen) == 1 else None
        started = time.perf_counter()
        endpoint.chat(["Hm?"], SamplingConfig())
        assert 1 <= time.perf_counter() - started < 5


@pytest.mark.parametrize("api", ["openai", *STUBS])
def test_a_wait_of_hours_is_not_begun(api: str, tmp_path: Path) -> None:
    with serving((STUBS | {"openai": Stub})[api](reply=lambda message: "A")) as stub:
        endpoint = open_chat(api, stub, tmp_path, retries=3)
        stub.fault = lambda stub, body: (429, {"Retry-After": "3600"}, "{}")
        with pytest.raises(FiglangError, match=r"too many requests .*try later \(0 of 1 answers"):
            endpoint.chat(["Hm?"], SamplingConfig())
        assert len(stub.seen) == 1


@pytest.mark.parametrize("api", STUBS)
def test_a_hung_server_is_said_to_be_overloaded(api: str, tmp_path: Path) -> None:
    with serving(STUBS[api](reply=lambda message: "A")) as stub:
        endpoint = open_chat(api, stub, tmp_path, timeout=0.2)
        stub.delay = 1.0
        with pytest.raises(
            FiglangError, match=r"no answer within model.timeout=0.2 seconds; is it overloaded"
        ):
            endpoint.chat(["Hm?"], SamplingConfig())


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("api", ["openai", *STUBS])
def test_a_busy_server_passes_the_probe(api: str, tmp_path: Path) -> None:
    def busy(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
        return (429, {}, "{}") if len(stub.requests) < 5 else None

    with serving((STUBS | {"openai": Stub})[api](reply=lambda message: "A", fault=busy)) as stub:
        assert open_chat(api, stub, tmp_path, retries=6).abilities.reply is not None
