"""The reasoning of a network that is here is kept apart, and its tokens are counted."""

from typing import Any

import pytest

from figlang.config import PromptConfig, ProtocolConfig, ScoringConfig
from figlang.evaluation import generation
from figlang.evaluation.replying import Protocol
from figlang.models.checkpoint import Loaded
from figlang.models.formats import LETTER
from figlang.models.manifest import Manifest
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.types import Item
from tests import causal_models

ITEM = Item("p-1", "p", "Her word is steel", ("It holds", "It fails"), 0)
THOUGHT = "<think>Steel does not bend.</think>"


def model() -> Loaded:
    manifest = Manifest("tiny", "tiny", "none", LETTER.name, "clean", 80, 1.0, 2, "nothing", "none", None)
    return Loaded(causal_models.network("llama"), causal_models.tokenizer(), manifest)


def rows(loaded: Loaded, **settings: Any) -> list[dict[str, Any]]:
    protocol = Protocol(
        loaded,
        Questions(),
        ScoringConfig("letter", kind="letter", orders="drawn", max_tokens=64),
        PromptConfig(),
        Pool(),
        ProtocolConfig(chat="plain", **settings),
    )
    return protocol.ask([ITEM], [ITEM]).replies


@pytest.mark.parametrize(
    ("settings", "replies"),
    [({"kind": "letter"}, 1), ({"kind": "letter", "n": 3, "temperature": 0.5}, 3), ({"kind": "two_step"}, 2)],
    ids=str,
)
def test_tokens_of_reasoning_are_those_of_all_replies(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], replies: int
) -> None:
    loaded = model()
    monkeypatch.setattr(
        generation.Writer,
        "write",
        lambda _, prompts, sampling, **__: [[f"{THOUGHT}\nA"] * sampling.n for _ in prompts],
    )
    (row,) = rows(loaded, **settings)
    assert (row["letter"], row["reasoning"]) == ("A", THOUGHT)
    assert row["tokens_reasoning"] == replies * len(loaded.tokenizer(THOUGHT)["input_ids"])


def test_a_reply_without_reasoning_has_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation.Writer, "write", lambda _, prompts, *__, **___: [["A"] for _ in prompts])
    (row,) = rows(model(), kind="letter")
    assert not {"reasoning", "tokens_reasoning"} & row.keys()
