"""Replies read by strict rules: a form that is not asked for is never a letter or a number."""

import time

import pytest

from figlang.scoring import reading
from figlang.scoring.reading import Reading
from figlang.types import Reply

# Kinds of odd replies. None of them has the asked form, so none of them may be a letter.
ODD = {
    "empty": Reply(""),
    "white space": Reply(" \n\t\n"),
    "refused": Reply("", refused=True),
    "reasoning without an end": Reply("<think>The answer is B", cut=True),
    "another letter": Reply("Answer: Z"),
    "two answer lines": Reply("Answer: A\nAnswer: B"),
    "both at once": Reply("Answer: A or B"),
    "neither": Reply("Answer: neither"),
    "the form repeated": Reply("Answer: X"),
    "words of an option": Reply("She is kind."),
    "a letter that is turned down": Reply("I do not think that (B) is right."),
    "another script": Reply("Answer: В"),
    "a quotation mark": Reply('"'),
    "emphasis alone": Reply("**\n```"),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_reply_is_never_a_letter_and_says_why(kind: str) -> None:
    for read in (
        reading.of_letter(ODD[kind], 2),
        reading.of_last_line(ODD[kind], 2, "Answer"),
        reading.of_rating(ODD[kind]),
    ):
        assert (read.letter, read.rating) == (None, None)
        assert read.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is ironic.\n\nAnswer: B", "B"),
        ("It is ironic.\n**Answer: (B).**", "B"),
        ("<think>Answer: A</think>\nanswer : B", "B"),
        ("Answer: B\n\nI hope that helps!", None),
        ("So the answer is B", None),
        ("B", None),
        ("Answer: b", None),
        ("Answer: B, because it is ironic", None),
        ("The final answer: B", None),
        ("Answer: Because it is ironic, B fits.\nAnswer: B", "B"),
        ("Short answer: I think that it is ironic.\nAnswer: B", "B"),
        ("Answer: A.\nNo, it is ironic.\nAnswer: B", None),
    ],
)
def test_only_a_last_line_of_the_asked_form_counts(text: str, expected: str | None) -> None:
    assert reading.of_last_line(Reply(text), 2, "Answer").letter == expected


def test_reasoning_that_begins_again_and_again_is_read_in_little_time() -> None:
    reply = Reply("<think>" * 20_000)
    began = time.process_time()
    assert reading.of_last_line(reply, 2, "Answer").reason == reading.UNTHOUGHT
    assert reading.of_letter(reply, 2).reason == reading.UNTHOUGHT
    assert reading.reasoning(reply) == reply.text
    assert time.process_time() - began < 5, "each beginning was read to the end"


def test_a_line_at_the_limit_of_tokens_may_have_gone_on() -> None:
    assert reading.of_last_line(Reply("Answer: B", cut=True), 2, "Answer").letter is None
    assert reading.of_letter(Reply("B", cut=True), 2).letter == "B", "as the letter protocol always read it"


def test_the_word_of_another_language() -> None:
    assert reading.of_last_line(Reply("Réponse : A"), 2, "Réponse").letter == "A"
    assert reading.of_last_line(Reply("Answer: A"), 2, "Antwort").letter is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("**7**", 7),
        ("Rating: 3.", 3),
        ("6/7", 6),
        ("<think>4?</think> 2", 2),
        ("0", None),
        ("8", None),
        ("55", None),
        ("5 or 6", None),
        ("4.5", None),
        ("five", None),
        ("-5", None),
        ("From 1 to 7 I say 5", None),
        ("99999999999999999999", None),
    ],
)
def test_a_rating_is_one_whole_number(text: str, expected: int | None) -> None:
    read = reading.of_rating(Reply(text))
    assert read.rating == expected
    assert bool(read.reason) is (expected is None)


def test_the_majority_counts_and_a_tie_is_named() -> None:
    votes = [Reading("A"), Reading("B"), Reading("B"), Reading(reason="it is empty")]
    assert reading.majority(votes) == Reading("B")
    tie = reading.majority(votes[:2])
    assert tie.letter is None
    assert tie.reason == "a tie: A 1, B 1 of 2"
    nothing = reading.majority(votes[3:] * 3)
    assert nothing.letter is None
    assert "none of 3 replies" in nothing.reason


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply("B", reasoning="It is ironic."), "It is ironic."),
        (Reply("<think>It is ironic.</think>B"), "<think>It is ironic.</think>"),
        (Reply("It is ironic.</think>B"), "It is ironic."),
        (Reply("<think>It is"), "<think>It is"),
        (Reply("B"), ""),
    ],
)
def test_reasoning_is_kept_apart(reply: Reply, expected: str) -> None:
    assert reading.reasoning(reply) == expected
