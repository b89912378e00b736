"""The letter protocol (figlang/asking.py, scoring/replies.py): messages by hand, replies read strictly."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from figlang.asking import question
from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.metrics import measure
from figlang.prompting import Pool
from figlang.prompts.lettered import Lettered
from figlang.scoring.replies import choose, letter
from figlang.systems import System, names
from figlang.types import Item

PAIR = [
    Item("p-1", "p", "Her word is steel", ("It can be trusted", "It cannot be trusted"), 0),
    Item("p-2", "p", "Her word is sand", ("It can be trusted", "It cannot be trusted"), 1),
]
MIQA = Item("m-1", "m", "my future is bright", ("there is hope", "there is light"), 0, {"question": ("implies",), "order": ("x",)})


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


def test_letters_beyond_the_options_are_none() -> None:
    assert [letter("The answer is D.", count) for count in (2, 3, 4)] == [None, None, "D"]


def ask(items: list[Item], orders: str = "both", pool: Sequence[Item] = (), **fields: Any) -> list[Lettered]:
    scoring = ScoringConfig("letter", kind="letter", orders=orders)
    return question(items, items, scoring, PromptConfig(**fields), Pool(tuple(pool), "train@x"))[1]


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
    (one,) = ask([MIQA])
    assert one.item == MIQA
    assert one.message == (
        '"My future is bright". Which of the following two statements could that imply?\n(A) there is hope\n(B) there is light\n\n'
        "Answer with one letter only: A or B."
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
    predictions, _ = choose(asked, [(gold_letters[one.item.gold or 0], False) for one in asked])
    measured = measure(predictions)
    assert measured["accuracy"]["value"] == value  # type: ignore[index]
    assert measured["accuracy"]["n"] == 4  # type: ignore[index]
    assert measured["pair_accuracy"]["value"] == value  # type: ignore[index]
    assert measured["pair_accuracy"]["chance"] is None  # type: ignore[index]


def test_always_the_first_letter_is_half_right_and_seen() -> None:
    asked = ask(PAIR)
    measured = measure(choose(asked, [("A", False)] * 4)[0])
    assert (measured["accuracy"]["value"], measured["first_option"]["value"], measured["ties"]) == (0.5, 1.0, 0)  # type: ignore[index]


def test_a_drawn_order_gives_scores_in_the_items_own_order() -> None:
    items = [Item(f"{number}", f"{number}", "c", ("right", "wrong"), 0) for number in range(20)]
    asked = ask(items, "drawn")
    predictions, _ = choose(asked, [("A" if "(A) right" in one.message else "B", False) for one in asked])
    assert [row.id for row in predictions] == [item.id for item in items]
    assert all(row.scores == (1.0, 0.0) and row.correct for row in predictions)


def test_an_invalid_reply_is_a_tie_and_wrong() -> None:
    asked = ask(PAIR, "drawn")
    predictions, answered = choose(asked, [("Who knows?", False), ("", True)])
    assert [(row.scores, row.choice, row.correct) for row in predictions] == [((0.0, 0.0), None, False)] * 2
    assert [(one.letter, one.cut) for one in answered] == [(None, False), (None, True)]


def test_letters_are_named_beside_scores() -> None:
    def told(*evaluations: tuple[str, str]) -> list[str]:
        return names([System("", Path(), {"model": model, "facts": {"scoring": how}}, (), "") for model, how in evaluations])

    assert told(("a", "letter(chat,greedy)"), ("b", "clean(span=string)")) == ["a · letter", "b · clean"]
    assert told(("a", "letter(chat,greedy)"), ("a", "clean(span=string)")) == ["a · letter", "a · clean"]
    assert told(("a", "answer(span=answer)"), ("b", "clean(span=string)")) == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "items", "message"),
    [
        ({"question": "or"}, [MIQA], "without letters; use prompt=miqa_numbered"),
        ({"question": "or"}, PAIR, "no question about Fig-QA's items; use prompt=figqa_meaning"),
        ({"question": "meaning", "template": "{metaphor} {a} {b}"}, PAIR, "must show (A) {a} and (B) {b}"),
        ({"question": "meaning", "template": "{metaphor} (A) {a} (B) {b"}, PAIR, "cannot be read"),
    ],
)
def test_a_prompt_without_letters_is_refused(fields: dict[str, str], items: list[Item], message: str) -> None:
    with pytest.raises(FiglangError, match=message.replace("(", r"\(").replace(")", r"\)").replace("{", r"\{")):
        ask(items, **fields)
