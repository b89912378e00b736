"""Each protocol against a chat that a test writes: messages by hand, and never a wrong letter."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from figlang.config import PromptConfig, ProtocolConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation import generation
from figlang.evaluation.protocols import score
from figlang.evaluation.replying import Protocol
from figlang.models.checkpoint import Served
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Chat, Item, Reply
from tests.scoring.test_reading import ODD

PAIR = [
    Item("p-1", "p", "Her word is steel", ("It can be trusted", "It cannot be trusted"), 0),
    Item("p-2", "p", "Her word is sand", ("It can be trusted", "It cannot be trusted"), 1),
]
SHOWN = Item("q-1", "q", "The exam was a breeze", ("It was easy", "It was hard"), 0)
Answer = Callable[[Chat], Reply]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Chat], dict[str, Answer]]:
    """The conversations that were held, and the function that replies (`answer`)."""
    seen: list[Chat] = []
    how: dict[str, Answer] = {"answer": lambda chat: Reply("A")}

    def converse(_: Any, chats: Sequence[Chat], sampling: Any, *__: Any) -> list[list[Reply]]:
        seen.extend(chats)
        return [[how["answer"](chat) for _ in range(sampling.n)] for chat in chats]

    monkeypatch.setattr(generation, "converse", converse)
    monkeypatch.setattr(generation, "manner", lambda *_: "chat,greedy")
    return seen, how


def protocol(prompt: PromptConfig | None = None, **settings: Any) -> Protocol:
    model = Served(cast(Any, None), cast(Any, None))
    pool = Pool((SHOWN,), "here")
    scoring = ScoringConfig("letter", kind="letter")
    return Protocol(model, Questions(), scoring, prompt or PromptConfig(), pool, ProtocolConfig(**settings))


def right(chat: Chat) -> str:
    """The letter of the right option of a question about PAIR."""
    text = chat[-1].content
    first_is_kind = text.index("It can be trusted") < text.index("It cannot be trusted")
    return "A" if ("steel" in text) is first_is_kind else "B"


def test_the_usual_protocol_sends_the_message_of_the_task(held: Any) -> None:
    seen, how = held
    how["answer"] = lambda chat: Reply(right(chat))
    asked = protocol().ask(PAIR, PAIR)
    assert all(prediction.correct for prediction in asked.predictions)
    assert [turn.role for turn in seen[0]] == ["user"]
    assert seen[0][0].content.endswith("\n\nAnswer with one letter only: A or B.")
    assert set(asked.replies[0]) == {"id", "message", "reply", "letter", "cut", "refused"}


def test_cot_reads_the_last_line(held: Any) -> None:
    seen, how = held
    how["answer"] = lambda chat: Reply(f"(A) could be.\n\nAnswer: {right(chat)}")
    asked = protocol(kind="cot").ask(PAIR, PAIR, blind=False)
    assert all(prediction.correct for prediction in asked.predictions)
    assert seen[0][-1].content.endswith("where X is A or B:\nAnswer: X")


def test_two_steps_ask_for_the_meaning_before_the_options_are_seen(held: Any) -> None:
    seen, how = held
    how["answer"] = lambda chat: Reply(right(chat) if "(A)" in chat[-1].content else "She keeps her word.")
    asked = protocol(kind="two_step").ask(PAIR, PAIR, blind=True)
    assert all(prediction.correct for prediction in asked.predictions)
    first = [chat for chat in seen if "(A)" not in chat[-1].content]
    assert len(first) == 2, "one for each metaphor, not for each order"
    assert not any("trusted" in turn.content for chat in first for turn in chat)
    then = next(chat for chat in seen if len(chat) == 3)
    assert [turn.role for turn in then] == ["user", "assistant", "user"]
    assert then[1].content == "She keeps her word."
    hidden = [chat for chat in seen if "(A)" in chat[-1].content and "Her word" not in chat[-1].content]
    assert {len(chat) for chat in hidden} == {1}, "without a context there is nothing to interpret"
    assert asked.replies[0]["steps"][0]["reply"] == "She keeps her word."


@pytest.mark.parametrize("empty", ["", " \n", "<think>A promise.</think>"])
def test_an_empty_interpretation_is_no_turn_of_the_conversation(held: Any, empty: str) -> None:
    seen, how = held
    how["answer"] = lambda chat: Reply(right(chat) if "(A)" in chat[-1].content else empty)
    asked = protocol(kind="two_step").ask(PAIR, PAIR, blind=False)
    assert all(prediction.correct for prediction in asked.predictions)
    assert all(turn.content.strip() for chat in seen for turn in chat)
    assert asked.replies[0]["steps"][0]["reply"] == empty, "the row shows what was said"


@pytest.mark.parametrize("kind", ["letter", "cot", "two_step"])
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_reply_is_never_a_choice(held: Any, kind: str, odd: str) -> None:
    _, how = held
    how["answer"] = lambda chat: ODD[odd]
    asked = protocol(kind=kind).ask(PAIR, PAIR, blind=True)
    for prediction in (*asked.predictions, *(asked.blind or ())):
        assert prediction.choice is None
    assert all(row["letter"] is None and row["reason"] for row in asked.replies)


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_rating_is_never_a_choice(held: Any, kind: str) -> None:
    _, how = held
    how["answer"] = lambda chat: ODD[kind] if "cannot" in chat[-1].content else Reply("7")
    found = score.rate(PAIR, Task(), protocol(kind="score").speaker(), blind=True)
    for prediction in (*found.forward, *(found.blind or ())):
        assert prediction.choice is None
    assert all(row.letter is None and row.reason for row in found.replies)
    assert {row.reply for row in found.replies} == {ODD[kind].text}, "it is shown with its reason"
    assert found.unread == {"backward": (1, 2), "blind": (2, 2)}


def test_ratings_give_both_directions(held: Any) -> None:
    seen, how = held
    good = {("steel", True), ("sand", False)}

    def rated(chat: Chat) -> Reply:
        text = chat[-1].content
        known = [name for name in ("steel", "sand") if name in text]
        return Reply("6" if known and (known[0], "can be" in text) in good else "2")

    how["answer"] = rated
    found = score.rate(PAIR, Task(), protocol(kind="score").speaker(), blind=True)
    assert [one.scores for one in found.forward] == [(6.0, 2.0), (2.0, 6.0)]
    assert [one.scores for one in found.backward] == [(6.0, 2.0), (2.0, 6.0)]
    assert all(one.correct for one in (*found.forward, *found.backward))
    assert [one.choice for one in found.blind or ()] == [None, None], "equal ratings are a tie"
    assert found.replies[0].ratings == (6.0, 2.0)
    assert len(seen) == len(set(seen)) == 4 + 4 + 2, "each message once"


def test_equal_ratings_are_named_as_a_tie(held: Any) -> None:
    _, how = held
    how["answer"] = lambda chat: Reply("4")
    found = score.rate(PAIR, Task(), protocol(kind="score").speaker(), blind=False)
    assert found.replies[0].reason == "a tie: A, B are rated 4"


def test_several_replies_vote(held: Any) -> None:
    _, how = held
    replies = iter("AAB" * 20)
    how["answer"] = lambda chat: Reply(next(replies))
    asked = protocol(n=3, temperature=0.7).ask(PAIR, PAIR)
    assert [row["letter"] for row in asked.replies] == ["A"] * 4
    assert asked.replies[0]["votes"] == ("A", "A", "B")


@pytest.mark.parametrize("kind", ["letter", "cot", "two_step"])
def test_one_of_several_replies_that_was_cut_or_refused_is_counted(held: Any, kind: str) -> None:
    _, how = held
    replies = iter([Reply(""), Reply("Hm", cut=True), Reply("", refused=True)] * 20)
    how["answer"] = lambda chat: next(replies)
    rows = protocol(kind=kind, n=3, temperature=0.7).ask(PAIR, PAIR).replies
    assert [(row["letter"], row["cut"], row["refused"]) for row in rows] == [(None, True, True)] * 4
    how["answer"] = lambda chat: Reply("Hm")
    rows = protocol(kind=kind, n=3, temperature=0.7).ask(PAIR, PAIR).replies
    assert {(row["cut"], row["refused"]) for row in rows} == {(False, False)}


def test_a_system_message_and_examples_as_turns(held: Any) -> None:
    seen, _ = held
    protocol(PromptConfig(k=1), turns=True, system="You are a linguist.").ask(PAIR, PAIR)
    chat = seen[0]
    assert [turn.role for turn in chat] == ["system", "user", "assistant", "user"]
    assert chat[0].content == "You are a linguist."
    assert "The exam was a breeze" in chat[1].content
    assert chat[2].content == ("(A)" if "(A) It was easy" in chat[1].content else "(B)")
    assert "breeze" not in chat[3].content
    assert chat[1].content.endswith("Answer with one letter only: A or B.")


def test_examples_as_text_stand_before_the_question(held: Any) -> None:
    seen, _ = held
    protocol(PromptConfig(k=1), kind="cot").ask(PAIR, PAIR)
    ((turn,),) = seen[:1]
    assert turn.content.index("breeze") < turn.content.index("steel")
    assert "one letter only" not in turn.content


@pytest.mark.parametrize("language", ["de", "es", "fr", "id"])
def test_instructions_in_another_language_than_the_items(held: Any, language: str) -> None:
    seen, how = held
    how["answer"] = lambda chat: Reply(right(chat))
    asked = protocol(language=language).ask(PAIR, PAIR)
    assert all(prediction.correct for prediction in asked.predictions)
    assert "Which" not in seen[0][-1].content
    assert "Answer" not in seen[0][-1].content
    facts = protocol(language=language).facts(PromptConfig())
    assert f"language='{language}'" in facts["scoring"]


def test_a_wording_that_a_language_lacks_is_refused() -> None:
    with pytest.raises(FiglangError, match=r"no wording in protocol\.language=de"):
        protocol(PromptConfig(question="speaker"), language="de")


def test_own_tags_of_reasoning(held: Any) -> None:
    _, how = held
    how["answer"] = lambda chat: Reply(f"<plan>The answer is A</plan>{right(chat)}")
    asked = protocol(think_tags=["<plan>", "</plan>"]).ask(PAIR, PAIR)
    assert all(prediction.correct for prediction in asked.predictions)
    assert "The answer is A" in asked.replies[0]["reasoning"]
    assert "plan" not in asked.replies[0]["reply"]


def test_settings_without_an_effect_are_refused() -> None:
    for settings in (
        {"n": 3},
        {"kind": "logprobs", "temperature": 1},
        {"kind": "cot", "constrain": "guided_choice"},
    ):
        with pytest.raises(FiglangError, match="protocol"):
            ProtocolConfig(**cast(Any, settings))
