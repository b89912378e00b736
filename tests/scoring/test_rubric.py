"""Rubrics for models (figlang/scoring/rubric.py): what a judge is shown, and odd replies."""

import pytest

from figlang.scoring import rubric
from figlang.tasks import registry
from figlang.types import Generation, Reply

WORDS = ("correct", "incorrect", "literal", "ambiguous")
ANSWER = Generation(
    "i", "g", "interpretation", 0, "He is a lion. That is to say,", ", he is brave", ", he is brave"
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Rating: correct", "correct"),
        ("rating: CORRECT.", "correct"),
        ("**Rating:** literal", "literal"),
        ("It repeats the words.\n\nRating: literal\n", "literal"),
        ("<think>Rating: incorrect? No.</think>\nRating: correct", "correct"),
        ("incorrect", "incorrect"),
        ("(ambiguous)", "ambiguous"),
        ("The rating is correct", "correct"),
        ("Rating: [incorrect]", "incorrect"),
        ("My final rating: incorrect", "incorrect"),
        ("Rating: correct\nRating: correct", "correct"),
    ],
)
def test_a_rating_is_read(text: str, word: str) -> None:
    assert rubric.read(Reply(text), WORDS) == (word, "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(""), "empty"),
        (Reply("   \n "), "empty"),
        (Reply("Rating: correct", refused=True), "refused"),
        (Reply("It seems that", cut=True), "cut"),
        (Reply("<think>Rating: correct", cut=True), "cut"),
        (Reply("Rating: correct\nRating: incorrect"), "several"),
        (Reply("Rating: correct or incorrect"), "no line"),
        (Reply("This is not correct at all."), "no line"),
        (Reply("The interpretation could be correct if meant so, else literal"), "no line"),
        (Reply("Rating: 7/10"), "no word"),
        (Reply("I cannot help with that."), "no word"),
        (Reply("Rating: correctly"), "no word"),
    ],
)
def test_odd_replies_give_no_rating_but_a_reason(reply: Reply, reason: str) -> None:
    word, why = rubric.read(reply, WORDS)
    assert word is None
    assert reason in why


@pytest.mark.parametrize("scale", sorted(registry.scales()))
def test_every_scale_has_a_rubric_with_its_words(scale: str) -> None:
    used = registry.scales()[scale]
    told = rubric.rubric_of(used)
    assert told.meanings.keys() == used.codes.keys()


def test_the_orders_are_of_the_same_words_and_the_prompt_ends_where_the_word_belongs() -> None:
    told = rubric.rubric_of(registry.scales()["figqa"])
    one, other = rubric.orders(WORDS, both=True)
    assert one == tuple(reversed(other)) == WORDS
    assert rubric.orders(WORDS, both=False) == [WORDS]
    text = rubric.shown(told, ANSWER, other, replies=False)
    assert text.endswith("Figure of speech: He is a lion.\nInterpretation: he is brave\nRating:")
    assert text.index("- ambiguous") < text.index("- correct")
    assert rubric.shown(told, ANSWER, one, replies=True).endswith("correct, incorrect, literal, ambiguous.")
