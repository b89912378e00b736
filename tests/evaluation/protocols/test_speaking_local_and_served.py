"""The same network here and behind an endpoint replies alike: one template, and the same messages."""

from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig, PromptConfig, ProtocolConfig, SamplingConfig, ScoringConfig
from figlang.evaluation import generation
from figlang.evaluation.protocols import score
from figlang.evaluation.replying import Protocol
from figlang.models import checkpoint
from figlang.models.checkpoint import Loaded
from figlang.models.formats import LETTER
from figlang.models.manifest import Manifest
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Turn
from tests import causal_models
from tests.evaluation.protocols.items import PAIR, SHOWN
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

TEMPLATE = (
    "{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% if shout %}!{% endif %}{% endif %}"
)


@pytest.fixture(scope="module")
def local() -> Loaded:
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = TEMPLATE
    network = causal_models.network("llama", max_position_embeddings=4096)
    manifest = Manifest(MODEL, "tiny", "none", LETTER.name, "clean", 80, 1.0, 2, "nothing", "none", None)
    return Loaded(network, tokenizer, manifest)


def serve(local: Loaded) -> Stub:
    """An endpoint whose model is the local one: it reads the fields of a request as vLLM does."""

    def reply(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
        if "messages" not in body:
            return None
        chat = tuple(Turn(**turn) for turn in body["messages"])
        settings = ProtocolConfig(chat_template_kwargs=body.get("chat_template_kwargs", {}))
        sampling = SamplingConfig(max_tokens=body["max_tokens"])
        ((said,),) = generation.converse(local, [chat], sampling, settings=settings)
        stub.reply = lambda _: said.text
        return None

    return Stub(completes=False, fault=reply)


def protocol(model: Any, **settings: Any) -> Protocol:
    return Protocol(
        model,
        Questions(),
        ScoringConfig("letter", kind="letter", max_tokens=6),
        PromptConfig(k=0 if settings["kind"] == "score" else 1),
        Pool((SHOWN,), "here"),
        ProtocolConfig(**settings),
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "letter"},
        {"kind": "letter", "turns": True, "system": "Be brief.", "language": "fr"},
        {"kind": "cot", "chat_template_kwargs": {"shout": True}},
        {"kind": "two_step"},
        {"kind": "score"},
    ],
    ids=str,
)
def test_the_same_network_replies_alike(local: Loaded, tmp_path: Path, settings: dict[str, Any]) -> None:
    with serving(serve(local)) as stub:
        model = ModelConfig(
            family="served", endpoint=stub.url, name=MODEL, name_or_path="", concurrency=1, retries=0
        )
        far = checkpoint.served(model, ScoringConfig("letter", kind="letter"), str(tmp_path))
        rows = []
        for each in (local, far):
            asked = protocol(each, **settings)
            if settings["kind"] == "score":
                found = score.rate(PAIR, Task(), asked.speaker(), blind=True)
                rows.append(([one.scores for one in found.forward], found.replies))
            else:
                result = asked.ask(PAIR, PAIR, blind=True)
                rows.append(([one.scores for one in result.predictions], result.replies))
    (scores, here), (others, there) = rows
    assert scores == others
    texts = [[_texts(row) for row in side] for side in (here, there)]
    assert texts[0] == texts[1]
    assert any(reply for _, reply, _ in texts[0]), "the network says something"


def _texts(row: Any) -> tuple[str, str, list[tuple[str, str]]]:
    known = row if isinstance(row, dict) else row.record()
    steps = [(step["message"], step["reply"]) for step in known.get("steps", ())]
    return known["message"], known["reply"], steps
