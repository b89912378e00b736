"""The letter protocol: messages by hand, replies read strictly."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.evaluation.protocols.letter import read
from figlang.evaluation.protocols.lettered import Result
from figlang.runs import names
from figlang.runs.systems import System
from figlang.scoring.replies import letter
from figlang.statistics.metrics import measure
from figlang.tasks.examples import Pool
from figlang.tasks.lettered import Lettered
from figlang.tasks.miqa.questions import Implications
from figlang.tasks.questions import Questions
from figlang.types import Item, Reply, Turn

PAIR = [
    Item("p-1", "p", "Her word is steel", ("It can be trusted", "It cannot be trusted"), 0),
    Item("p-2", "p", "Her word is sand", ("It can be trusted", "It cannot be trusted"), 1),
]
MIQA = Item(
    "m-1",
    "m",
    "my future is bright",
    ("there is hope", "there is light"),
    0,
    {"question": ("implies",), "order": ("x",)},
)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("**B.**", "B"),
        ("Option B", "B"),
        ("Answer: (B).", "B"),
        ("B. She is kind.", "B"),
        ("(A) She is kind.", "A"),
        ("The answer is B.", "B"),
        ("The answer is B, because the metaphor says so.", "B"),
        ("The correct answer is:\n\nB) She is kind", "B"),
        ("A\n\nOption (B) would be the literal reading.", "A"),
        ("Option A says x, option B says y. The answer is A. No, the answer is B.", "B"),
        ("(A) would be literal.\n\nFinal answer: (B)", "B"),
        ("<think>The answer is A, or is it?</think>\n\nB", "B"),
        ("it says so, the answer is A</think>The answer is B.", "B"),
        ("B is the correct answer.", "B"),
        ("I would choose (B).", "B"),
        ("The answer is B – she is kind.", "B"),
        (r"So $\boxed{B}$", "B"),
        (r"The answer is \boxed{A}.", "A"),
        (r"She is kind.\n\n$\boxed{\text{(B)}}$".replace(r"\n", "\n"), "B"),
        # no answer
        ("", None),
        ("<think>The answer is A", None),
        ("She is kind.", None),
        ("A metaphor is fun.", None),
        ("The answer is A metaphor.", None),
        ("b", None),
        ("C", None),
        ("AB", None),
        # more than one
        ("A or B", None),
        ("The answer is A, B.", None),
        ("The answer is (A) or (B).", None),
        ("(A) x (B) y", None),
        ("Neither A nor B is correct.", None),
        ("(A) or (B) is right.", None),
        ("A is the wrong answer.", None),
        ("I do not think B is correct.", None),
        ("A. x\nB. y", None),
        ("(A)\n(B)", None),
        ("The answer is A.\n\nThe answer is B.", None),
        # turned down
        ("(A) is wrong.", None),
        ("(A) doesn’t fit.", None),
        ("(B) would be literal, so not it.", None),
        ("(B) is not the answer.", None),
        ("I don't think the answer is B.", None),
        ("It would be wrong to say the answer is (B).", None),
        ("If the answer is A, then she is rich, and she is not.", None),
        ("The answer is not A, the answer is B.", "B"),
        ("I do not think the answer is A. The answer is B.", "B"),
        ("It is not literal, so the answer is B.", "B"),
        ("(B) is the correct answer.", "B"),
        ("(B) would be best.", "B"),
        ("(A) there is no hope", "A"),
        ("(A) She cannot be trusted", "A"),
    ],
)
def test_a_reply_is_read_strictly(reply: str, expected: str | None) -> None:
    assert letter(reply, 2) == expected


# Forms in which models write the same answer.
WRITTEN = [
    r"\(\boxed{B}\)",
    r"\[\boxed{B}\]",
    r"$$\boxed{\textbf{(B)}}$$",
    r"\boxed{B: She is kind}",
    r"\boxed{\text{B. She is kind}}",
    r"\boxed{\text{Option B}}",
    "ANSWER: $B$",
    "$B$",
    r"Answer: \(B\)",
    "<answer>B</answer>",
    "I think so.\n<answer>(B)</answer>\nI hope that helps.",
    "<answer>\nB\n</answer>",
    "<answer>B. She is kind</answer>",
    "Answer: B<|im_end|>",
    "B<|eot_id|>",
    "B</s>",
    "B<end_of_turn>\n<start_of_turn>user\nThe answer is A",
    "B<｜end▁of▁sentence｜>",
    "<|im_start|>assistant\nB<|im_end|>\n<|im_start|>user\nA",
    "<|channel|>analysis<|message|>The answer is "
    "A.<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
    "The best interpretation is (B).",
    "The most likely meaning is B.",
    "The correct statement is: (B) She is kind.",
    '{"answer": "B"}',
    '{"wrong_answer": "A", "answer": "B"}',
    "[THINK]the answer is A[/THINK]B",
    "The best interpretation is (B), not (A).",
    "The worst interpretation is (A), the best one is not. The answer is (B).",
    r"We get \boxed{A}? No. $\boxed{B}$",
    "The answer is: B",
    "Final answer: (B)",
    "Answer:\nB",
    "**Answer: (B)**",
    r"So the answer is $\boxed{B}$.",
    "the answer is A</think><answer>B</answer>",
    "The answer is (B), so my final answer is (B).",
]
# What a careless reader would take for an answer.
HOSTILE = [
    "The answer (A) is wrong.",
    "Choice (A) is wrong.",
    "(A) isn't right.",
    "(A) cannot be right.",
    "Answer A: she is kind. Answer B: she is sad. Both could be.",
    "Choice A: x\nChoice B: y",
    "Option A:\nShe is kind, which is literal.\nOption B:\nShe is sad.",
    "The worst interpretation is (B).",
    "The best interpretation is not (B).",
    "The second best interpretation is (B).",
    "The best interpretation is (A) or (B).",
    "Is the best interpretation (B)?",
    "The best interpretation is (B)?",
    "The best interpretation is (B) if taken literally.",
    r"\boxed{A, B}",
    r"\boxed{A or B}",
    r"It is not \boxed{A}",
    r"\boxed{}",
    r"\boxed{A metaphor}",
    "<answer>A or B</answer>",
    "<answer>A</answer> is wrong",
    "<answer>(A)</answer> is wrong",
    "It is not <answer>A</answer>.",
    "<answer></answer>",
    "<answer>A",
    "I do not think, however, that the answer is (A).",
    "Some would say the answer is (A).",
    "Some people think the answer is A.",
    "The answer is A. Wait, it is (B).",
    "(A) She is kind. This is wrong.",
    "You could choose A. You could choose B.",
    "<|channel|>analysis<|message|>The answer is A.",
    "<|im_end|>A",
    "ANSWER: $A or B$",
    "ANSWER: $A$ or $B$",
    "Answer with one letter only: A or B.",
    "A is right only if it is meant literally.",
    "<answer>C</answer>",
    "(A) makes no sense.",
    "Answer: A and/or B",
    "Answer: A & B",
    "Answer: A or option B",
    "The answer is (A) or option (B).",
    "$A$ + $B$",
    "The answer is A?",
    "Should I choose (A)?",
    "The best literal interpretation is (A).",
    r"\boxed{A} or \boxed{B}",
    "<answer>A</answer> or <answer>B</answer>",
    "If <answer>A</answer>, then she is rich.",
    "<think>B",
    "Not (A).",
    "Definitely not (A)",
    "A is not correct.",
    "(A) and (B) are both right.",
    "The answer is neither (A) nor (B).",
    "The answer can't be (A).",
    "Why (A)?",
    "The answer is not simply B.",
    "The answer is A/B",
    "The answer is (A), or else the answer is (B).",
]


@pytest.mark.parametrize("reply", WRITTEN)
def test_an_answer_is_read_in_whatever_form_it_is_written(reply: str) -> None:
    assert letter(reply, 2) == "B"


@pytest.mark.parametrize("reply", HOSTILE)
def test_what_is_no_answer_gives_no_letter(reply: str) -> None:
    assert letter(reply, 2) is None


@pytest.mark.parametrize("reply", WRITTEN)
@pytest.mark.parametrize(
    "around",
    ["I do not think so: it cannot be said.\n{}", "{}<|im_end|>\n<|im_start|>user\nThe answer is A."],
)
def test_a_written_answer_stays_the_same_letter_or_none(reply: str, around: str) -> None:
    """Whatever stands around an answer, another letter than its own is never read."""
    assert letter(around.format(reply), 2) in ("B", None)


@pytest.mark.parametrize("reply", WRITTEN)
def test_swapped_letters_are_read_as_swapped(reply: str) -> None:
    swapped = re.sub(r"(?<![A-Za-z])[AB](?![A-Za-z])", lambda found: "BA"["AB".index(found[0])], reply)
    assert letter(swapped, 2) == "A"


def test_long_replies_are_read_in_time() -> None:
    for text in (
        "if " * 20_000,
        "answer " * 10_000,
        "$" * 20_000,
        "<think>" * 5_000,
        "if the answer is A, " * 5_000,
        "\\text{" * 10_000,
    ):
        started = time.process_time()
        assert letter(text, 2) is None
        assert time.process_time() - started < 10


def test_letters_beyond_the_options_are_none() -> None:
    assert [letter("The answer is D.", count) for count in (2, 3, 4)] == [None, None, "D"]


def ask(
    items: list[Item],
    orders: str = "both",
    pool: Sequence[Item] = (),
    questions: Questions | None = None,
    **fields: Any,
) -> list[Lettered]:
    questions = questions or Questions()
    prompt = questions.settled(PromptConfig(**fields))
    return questions.letters(items, items, prompt, Pool(tuple(pool), "train@x"), orders)


def answers(asked: list[Lettered], replies: list[Reply]) -> Result:
    chats = [(Turn("user", one.message),) for one in asked]
    return read(asked, chats, [[reply] for reply in replies])


def test_the_message_about_a_pair_by_hand() -> None:
    asked = ask(PAIR[:1])
    assert [one.message for one in asked] == [
        '"Her word is steel"\nWhich of the following two statements does that mean?\n'
        "(A) It can be trusted\n(B) It cannot be trusted\n\nAnswer with one letter only: A or B.",
        '"Her word is steel"\nWhich of the following two statements does that mean?\n'
        "(A) It cannot be trusted\n(B) It can be trusted\n\nAnswer with one letter only: A or B.",
    ]
    assert [(one.item.id, one.item.gold, one.item.attributes["order"]) for one in asked] == [
        ("p-1/1", 0, ("right first",)),
        ("p-1/2", 1, ("wrong first",)),
    ]


def test_miqa_is_asked_as_it_comes_in_the_published_words() -> None:
    (one,) = ask([MIQA], questions=Implications())
    assert one.item == MIQA
    assert one.message == (
        '"My future is bright". Which of the following two statements could that imply?\n(A) there is '
        "hope\n(B) there is light\n\nAnswer with one letter only: A or B."
    )


def test_orders_are_drawn_by_seed_and_item() -> None:
    items = [Item(f"{number}", f"{number}", "c", ("x", "y"), 0) for number in range(200)]
    drawn = {seed: [one.places for one in ask(items, "drawn", seed=seed)] for seed in (0, 1)}
    assert drawn[0] != drawn[1]
    assert 60 < sum(places == (0, 1) for places in drawn[0]) < 140
    assert [one.places for one in ask(items[50:], "drawn")] == drawn[0][50:]


def test_examples_show_their_right_letter_in_a_drawn_order() -> None:
    (first, _) = ask(PAIR[:1], pool=PAIR, k=1)
    shown, answer = first.message.split("\n\n")[0].rsplit("\n", 1)
    assert shown.startswith('"Her word is sand"')
    assert f"{answer} It cannot be trusted" in shown


@pytest.mark.parametrize(("gold_letters", "value"), [("AB", 1.0), ("BA", 0.0)])
def test_both_orders_are_items_of_their_own(gold_letters: str, value: float) -> None:
    asked = ask(PAIR)
    found = answers(asked, [Reply(gold_letters[one.item.gold or 0]) for one in asked])
    measured = measure(found.predictions)
    assert measured["accuracy"]["value"] == value  # type: ignore[index]
    assert measured["accuracy"]["n"] == 4  # type: ignore[index]
    assert measured["pair_accuracy"]["value"] == value  # type: ignore[index]
    assert measured["pair_accuracy"]["chance"] is None  # type: ignore[index]


def test_always_the_first_letter_is_half_right_and_seen() -> None:
    asked = ask(PAIR)
    measured = measure(answers(asked, [Reply("A")] * 4).predictions)
    assert (measured["accuracy"]["value"], measured["first_option"]["value"], measured["ties"]) == (
        0.5,
        1.0,
        0,
    )  # type: ignore[index]


def test_a_drawn_order_gives_scores_in_the_items_own_order() -> None:
    items = [Item(f"{number}", f"{number}", "c", ("right", "wrong"), 0) for number in range(20)]
    asked = ask(items, "drawn")
    predictions = answers(
        asked, [Reply("A" if "(A) right" in one.message else "B") for one in asked]
    ).predictions
    assert [row.id for row in predictions] == [item.id for item in items]
    assert all(row.scores == (1.0, 0.0) and row.correct for row in predictions)


def test_an_invalid_reply_is_a_tie_and_wrong() -> None:
    asked = ask(PAIR, "drawn")
    found = answers(asked, [Reply("Who knows?"), Reply("", True)])
    rows = [(row.scores, row.choice, row.correct) for row in found.predictions]
    assert rows == [((0.0, 0.0), None, False)] * 2
    assert [(one.letter, one.cut) for one in found.replies] == [(None, False), (None, True)]


def test_letters_are_named_beside_scores() -> None:
    def told(*evaluations: tuple[str, str]) -> list[str]:
        return names.short(
            [
                System("", Path(), {"model": model, "facts": {"scoring": how}}, (), "")
                for model, how in evaluations
            ]
        )

    assert told(("a", "letter(chat,greedy)"), ("b", "clean(span=string)")) == ["a, by letters", "b, clean"]
    assert told(("a", "letter(chat,greedy)"), ("a", "clean(span=string)")) == ["a, by letters", "a, clean"]
    assert told(("a", "answer(span=answer)"), ("b", "clean(span=string)")) == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "items", "message"),
    [
        ({"question": "or"}, [MIQA], "without letters; use prompt=miqa_numbered"),
        ({"question": "or"}, PAIR, "not a question about a context with two options"),
        ({"question": "meaning", "template": "{metaphor} {a} {b}"}, PAIR, "must show (A) {a} and (B) {b}"),
        ({"question": "meaning", "template": "{metaphor} (A) {a} (B) {b"}, PAIR, "cannot be read"),
    ],
)
def test_a_prompt_without_letters_is_refused(fields: dict[str, str], items: list[Item], message: str) -> None:
    with pytest.raises(
        FiglangError, match=message.replace("(", r"\(").replace(")", r"\)").replace("{", r"\{")
    ):
        ask(items, questions=Implications() if MIQA in items else None, **fields)
