"""Letters by the probabilities that an endpoint shows for the first token of its reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig, PromptConfig, ProtocolConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation.protocols import score
from figlang.evaluation.replying import Protocol
from figlang.models import checkpoint
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Item
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

ITEM = Item("p-1", "p", "Her word is steel", ("It holds", "It fails"), 0)


# What endpoints may show in place of likeliest tokens. The command ends in one line.
REFUSED: dict[str, Any] = {
    "nothing": [],
    "null": None,
    "a word": "A",
    "words alone": ["A", "B"],
    "no token": [{"logprob": -1.0}],
    "no number": [{"token": "A", "logprob": None}, {"token": "B", "logprob": None}],
    "a word for a number": [{"token": "A", "logprob": "likely"}],
    "not a number": [{"token": "A", "logprob": float("nan")}, {"token": "B", "logprob": -1.0}],
    "of probability 0": [{"token": "A", "logprob": float("-inf")}, {"token": "B", "logprob": float("-inf")}],
}
# Tokens that are no choice between A and B, and no rating.
ODD: dict[str, Any] = {
    "a token that is no text": [{"token": 65, "logprob": -1.0}, {"token": None, "logprob": -2.0}],
    "another script": [{"token": "А", "logprob": -1.0}, {"token": "В", "logprob": -2.0}],
    "full width": [{"token": "Ａ", "logprob": -1.0}, {"token": "Ｂ", "logprob": -2.0}],
    "small letters": [{"token": "a", "logprob": -1.0}, {"token": " b", "logprob": -2.0}],
    "both in one": [{"token": "A or B", "logprob": -1.0}],
}


def asked(tmp_path: Path, shown: Any, **settings: Any) -> Any:
    def answer(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
        if not body.get("top_logprobs"):
            return None
        known = isinstance(shown, dict)
        top = [{"token": token, "logprob": value} for token, value in shown.items()] if known else shown
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


SETTINGS: list[dict[str, Any]] = [{"kind": "logprobs"}, {"kind": "score", "rating": "expected"}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_list_of_tokens_is_one_line(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(FiglangError, match="no likeliest tokens") as caught:
        asked(tmp_path, REFUSED[name], **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ODD)
def test_odd_tokens_are_no_choice(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    found = asked(tmp_path, ODD[name], **settings)
    (prediction,) = found.forward if settings["kind"] == "score" else found[0].predictions
    assert prediction.choice is None


def test_numbers_by_their_probabilities(tmp_path: Path) -> None:
    found = asked(tmp_path, {"7": -0.6931, " 1": -0.6931, "The": -9.0}, kind="score", rating="expected")
    assert found.replies[0].ratings == pytest.approx((4.0, 4.0), abs=1e-3)


def test_no_number_among_the_likeliest_tokens_is_not_a_rating(tmp_path: Path) -> None:
    found = asked(tmp_path, {"The": -0.1}, kind="score", rating="expected")
    assert found.forward[0].choice is None
    assert "no number is among its likeliest first tokens" in found.replies[0].reason
