"""A network without a chat template replies to turns that are written as plain text."""

from dataclasses import replace
from typing import Any

import pytest

from figlang.config import PromptConfig, ProtocolConfig, SamplingConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation import generation
from figlang.evaluation.protocols import score
from figlang.evaluation.protocols.speaking import Speaker, checked
from figlang.evaluation.replying import Protocol
from figlang.models.checkpoint import Loaded, Served
from figlang.models.formats import LETTER
from figlang.models.manifest import Manifest
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Turn
from tests import causal_models
from tests.evaluation.protocols.items import PAIR, SHOWN

# The same text as a template, which writes the bos itself.
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ {'system': '', 'user': 'User: ', 'assistant': 'Assistant: '}[message['role']] }}"
    "{{ message['content'] }}\n\n{% endfor %}Assistant:"
)
PLAIN = ProtocolConfig(chat="plain")


def model(template: str | None) -> Loaded:
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = template
    network = causal_models.network("llama", max_position_embeddings=4096)
    manifest = Manifest("tiny", "tiny", "none", LETTER.name, "clean", 80, 1.0, 2, "nothing", "none", None)
    return Loaded(network, tokenizer, replace(manifest, bos="add"))


def answers(loaded: Loaded, **settings: Any) -> list[Any]:
    """What a protocol finds: scores, and replies as they are written to a file."""
    protocol = Protocol(
        loaded,
        Questions(),
        ScoringConfig("letter", kind="letter", max_tokens=6),
        PromptConfig(k=0 if settings["kind"] == "score" else 1),
        Pool((SHOWN,), "here"),
        ProtocolConfig(**settings),
    )
    if settings["kind"] == "score":
        found = score.rate(PAIR, Task(), protocol.speaker(), blind=True)
        return [[one.scores for one in found.forward], [one.record() for one in found.replies]]
    asked = protocol.ask(PAIR, PAIR, blind=True)
    return [[one.scores for one in asked.predictions], asked.replies, asked.measured]


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "letter"},
        {"kind": "letter", "turns": True, "system": "Be brief."},
        {"kind": "cot"},
        {"kind": "two_step"},
        {"kind": "logprobs"},
        {"kind": "score", "rating": "expected"},
    ],
    ids=str,
)
def test_a_plain_chat_is_that_of_a_template_with_the_same_text(settings: dict[str, Any]) -> None:
    assert answers(model(None), chat="plain", **settings) == answers(model(TEMPLATE), **settings)


def test_the_text_of_a_plain_chat() -> None:
    chat = (
        Turn("system", "Be brief."),
        Turn("user", "A or B?"),
        Turn("assistant", "A"),
        Turn("user", "Why?"),
    )
    assert generation.worded(model(None), [chat], PLAIN) == [
        "Be brief.\n\nUser: A or B?\n\nAssistant: A\n\nUser: Why?\n\nAssistant:"
    ]


def test_a_reply_ends_before_the_next_turn_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    written = [[" It is A.\nUser: Thanks"], [" It is\nUsers: B"]]
    monkeypatch.setattr(generation.Writer, "write", lambda *_, **__: written)
    sampling = SamplingConfig(max_tokens=2)
    ended, cut = (
        reply for (reply,) in generation.converse(model(None), ["?", "!"], sampling, settings=PLAIN)
    )
    assert (ended.text, ended.cut) == (" It is A.", False)
    assert (cut.text, cut.cut) == (" It is\nUsers: B", True)


def test_without_a_template_the_way_out_is_named() -> None:
    with pytest.raises(FiglangError, match=r"no chat format.*protocol\.chat=plain"):
        generation.worded(model(None), ["A or B?"], ProtocolConfig())


def test_a_server_writes_conversations_itself() -> None:
    with pytest.raises(FiglangError, match=r"protocol\.chat=plain is for a network here"):
        checked(Speaker(Served.__new__(Served), PLAIN, 6))
