"""What a hidden context means in words: templates, questions and messages without it."""

import pytest

from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.scoring.requests import Request
from figlang.scoring.wording import Wording
from figlang.tasks import lettered
from figlang.tasks.blind import without
from figlang.tasks.miqa import prompts as miqa
from figlang.tasks.munch import prompts as munch
from tests.tasks.test_blind import PAIRS, QUESTIONS, TRIPLES

# What hidden means in words


@pytest.mark.parametrize(
    ("template", "left"),
    [
        ("{stem}.", ""),
        ("{stem}", ""),
        ('"{stem}". Which of the two?', "Which of the two?"),
        ('Q: "{stem}" is implied by which?', "Q: is implied by which?"),
        ("“{stem}”\nWhich?", "Which?"),
        ("{stem}: which?", "which?"),
        ("No place", "No place"),
    ],
)
def test_the_place_goes_with_its_marks(template: str, left: str) -> None:
    assert without(template, "{stem}") == left


def test_a_question_without_its_statement() -> None:
    wording = miqa.wording_of(PromptConfig("q", question="numbered"))
    (asked,) = miqa.ask(QUESTIONS[:1], wording, miqa.Shots(), blind=True)
    assert (
        asked.prompt
        == "Which of the following two statements could that imply? (1) there is hope (2) there is light"
    )
    (shown,) = miqa.ask(QUESTIONS[:1], wording, miqa.Shots(1), QUESTIONS, blind=True)
    assert shown.prompt.startswith('"Her plan sank". Which of the following two statements could that imply?')
    assert shown.prompt.endswith(f"\n\n{asked.prompt}"), "examples stay"


def test_a_triple_without_its_sentence() -> None:
    (asked,) = munch.ask(TRIPLES[:1], "CTWT52", blind=True)
    first, *rest = asked.prompt.splitlines()
    assert first.startswith("Choose the word(s)")
    assert rest == [
        "Option A: rose",
        "Option B: baked",
        "Option C: both",
        "Option D: neither",
        "Correct answer: Option",
    ]


def test_a_message_without_its_metaphor() -> None:
    (first, _) = lettered.about_pairs(
        [PAIRS[0].hidden()], PromptConfig(question="meaning"), "both", {"a-1": ""}
    )
    assert first.message.startswith(
        "Which of the following two statements does that mean?\n(A) It was hot.\n"
    )


@pytest.mark.parametrize(
    ("template", "suffix", "expected"),
    [
        ("{metaphor} {answer}", "", Request("", "It was hot.")),
        ("{metaphor} {answer}", "That is to say, ", Request("", "That is to say, It was hot.")),
        ('"{metaphor}" In other words: {answer} Yes', "", Request("", "In other words: It was hot. Yes")),
        ("{answer}", "", Request("", "It was hot.")),
    ],
)
def test_a_string_without_its_metaphor(template: str, suffix: str, expected: Request) -> None:
    wording = Wording(ScoringConfig(template=template), PromptConfig(suffix=suffix))
    assert wording.blind("whole", "", "it was hot") == expected
    assert "".join(wording.blind("answer", "", "it was hot")) == "".join(expected)


def test_a_question_may_leave_the_metaphor_out() -> None:
    prompt = PromptConfig(question="meaning", template="Which is likelier?\n(A) {a}\n(B) {b}")
    (first, _) = lettered.about_pairs(PAIRS[:1], prompt, "both", {"a-1": ""})
    assert first.message.startswith("Which is likelier?\n(A) It was hot.\n")


def test_an_answer_alone_less_itself_is_refused() -> None:
    scoring = ScoringConfig("pmi", span="answer", minus_alone=True, template="{answer}")
    with pytest.raises(FiglangError, match="every score would be 0; use scoring=answer"):
        Wording(scoring, PromptConfig())
