"""Letters by the probabilities that an endpoint shows for the first token of its reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig, PromptConfig, ProtocolConfig, ScoringConfig
from figlang.evaluation.protocols import score
from figlang.evaluation.replying import Protocol
from figlang.models import checkpoint
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Item
from tests.stub_server import MODEL, Stub, serving

pytest.importorskip("openai", reason="needs the extra `served`")

ITEM = Item("p-1", "p", "Her word is steel", ("It holds", "It fails"), 0)


def asked(tmp_path: Path, shown: dict[str, float], **settings: Any) -> Any:
    def answer(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
        if not body.get("top_logprobs"):
            return None
        top = [{"token": token, "logprob": value} for token, value in shown.items()]
        choice = {
            "message": {"content": "?"},
            "finish_reason": "length",
            "logprobs": {"content": [{"top_logprobs": top}]},
        }
        return 200, {}, json.dumps({"choices": [choice]})

    with serving(Stub(completes=False, fault=answer)) as stub:
        model = ModelConfig(family="served", endpoint=stub.url, name=MODEL, name_or_path="", retries=0)
        scoring = ScoringConfig("letter", kind="letter", orders="drawn")
        served = checkpoint.served(model, scoring, str(tmp_path))
        protocol = Protocol(served, Questions(), scoring, PromptConfig(), Pool(), ProtocolConfig(**settings))
        if settings["kind"] == "score":
            return score.rate([ITEM], Task(), protocol.speaker(), blind=False)
        return protocol.ask([ITEM], [ITEM]), stub.seen[-1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("shown", "letter"),
    [
        ({"A": -2.0, " B": -1.0, "The": -0.5}, "B"),
        ({"A": -1.5, " A": -1.5, "B": -1.0}, "A"),
        ({"The": -0.1, "A": -3.0, "C": -4.0}, "A"),
        ({"The": -0.1, "I": -3.0}, None),
        ({"A": -1.0, "B": -1.0}, None),
        ({"The": -0.1, "A": -3.0}, None),  # B may have as much
        ({"a": -0.1, "AB": -0.2, "(C": -3.0}, None),
    ],
)
def test_the_likeliest_letter_counts(tmp_path: Path, shown: dict[str, float], letter: str | None) -> None:
    found, message = asked(tmp_path, shown, kind="logprobs")
    (prediction,) = found.predictions
    if letter is None:
        assert prediction.choice is None
    else:
        assert prediction.choice is not None
        assert f"({letter}) {ITEM.options[prediction.choice]}\n" in message
    assert not found.replies
    assert len(found.measured) == 1


def test_numbers_by_their_probabilities(tmp_path: Path) -> None:
    found = asked(tmp_path, {"7": -0.6931, " 1": -0.6931, "The": -9.0}, kind="score", rating="expected")
    assert found.replies[0].ratings == pytest.approx((4.0, 4.0), abs=1e-3)


def test_no_number_among_the_likeliest_tokens_is_not_a_rating(tmp_path: Path) -> None:
    found = asked(tmp_path, {"The": -0.1}, kind="score", rating="expected")
    assert found.forward[0].choice is None
    assert "no number is among its likeliest first tokens" in found.replies[0].reason
