"""MiQA's questions in words (figlang/tasks/miqa/prompts.py), string by string, and the laws of the examples
before them."""

import pytest

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.files.sources import package_path
from figlang.tasks.examples import Pool
from figlang.tasks.miqa import reading as miqa
from figlang.tasks.miqa.prompts import BASELINES, PROMPTS, Shots, Wording, ask, examples, templates
from figlang.tasks.miqa.questions import Implications
from figlang.types import Item, Prompted

SAMPLE = miqa.read(package_path(f"package:figlang/samples/miqa/{miqa.FILE}")).items
LOST = ("I lost my temper", "the keys are gone", "I shouted")
IMPLIES = Item("implies", "1", LOST[0], (LOST[1], LOST[2]), 1, {"question": ("implies",)})
IMPLIED_BY = Item(
    "implied-by", "1", "the keys are gone", ("I lost my keys", LOST[0]), 0, {"question": ("implied-by",)}
)
ASKED = '"I lost my temper". Which of the following two statements could that imply? '
ASKED_BY = '"The keys are gone" is implied by which of the following two statements? '


def wording(name: str, **settings: str) -> Wording:
    return Wording(templates(name), **settings)


@pytest.mark.parametrize(
    ("name", "implies", "implied_by"),
    [
        ("or", ASKED + "the keys are gone or I shouted?", ASKED_BY + "I lost my keys or I lost my temper?"),
        (
            "numbered",
            ASKED + "(1) the keys are gone (2) I shouted",
            ASKED_BY + "(1) I lost my keys (2) I lost my temper",
        ),
        (
            "qa",
            f"Q: {ASKED}(1) the keys are gone (2) I shouted A:",
            f"Q: {ASKED_BY}(1) I lost my keys (2) I lost my temper A:",
        ),
        (
            "question_answer",
            f"Question: {ASKED}(1) the keys are gone (2) I shouted Answer: It could imply",
            f"Question: {ASKED_BY}(1) I lost my keys (2) I lost my temper Answer: It is implied by",
        ),
        ("no_choices", "", ""),
        (
            "no_questions",
            "Pick between the following statements: (1) the keys are gone (2) I shouted",
            "Pick between the following statements: (1) I lost my keys (2) I lost my temper",
        ),
    ],
)
def test_the_named_prompts(name: str, implies: str, implied_by: str) -> None:
    assert wording(name).prompt(IMPLIES) == implies
    assert wording(name).prompt(IMPLIED_BY) == implied_by
    assert Implications().settled(PromptConfig(question=name)).question == name


def test_a_prompt_without_a_name_numbers_its_options() -> None:
    assert Implications().settled(PromptConfig()).question == "numbered"


@pytest.mark.parametrize("name", ["numbered", "qa", "question_answer"])
@pytest.mark.parametrize("layout", ["inline", "lines"])
def test_a_message_asks_for_a_letter_right_after_the_options(name: str, layout: str) -> None:
    prompt = PromptConfig(question=name, layout=layout, reply="letter")
    for item, last in ((IMPLIES, "I shouted"), (IMPLIED_BY, "I lost my temper")):
        (asked,) = Implications().letters([item], [item], prompt, Pool(), "all")
        assert asked.message.endswith(f"(B) {last}\n\nAnswer with one letter only: A or B.")


def test_the_baselines_do_not_show_the_stem() -> None:
    shown = {name for name in PROMPTS if LOST[0] in wording(name).prompt(IMPLIES)}
    assert shown == PROMPTS.keys() - set(BASELINES)


def test_lines_put_every_part_on_its_own() -> None:
    assert wording("qa", layout="lines").prompt(IMPLIED_BY) == (
        'Q: "The keys are gone" is implied by which of the following two statements?\n(1) I lost my '
        "keys\n(2) I lost my temper\nA:"
    )


@pytest.mark.parametrize(
    ("case", "prompt", "answer"),
    [
        ("raw", '"the glass is cold" x (1) iced tea (2) NASA', " iced tea"),
        ("first", '"The glass is cold" x (1) iced tea (2) NASA', " iced tea"),
        ("all", '"The glass is cold" x (1) Iced tea (2) NASA', " Iced tea"),
    ],
)
def test_case_touches_first_letters_only(case: str, prompt: str, answer: str) -> None:
    item = Item("1", "1", "the glass is cold", ("iced tea", "NASA"), 0, {"question": ("implies",)})
    worded = Wording(templates("", '"{stem}" x (1) {a} (2) {b}'), case=case)
    assert worded.prompt(item) == prompt
    assert worded.answers(item) == (answer, " NASA")


@pytest.mark.parametrize(
    ("settings", "prompt", "answers"),
    [
        (
            {"answer": "statement"},
            "(1) the keys are gone (2) I shouted A:",
            (" the keys are gone", " I shouted"),
        ),
        ({"answer": "number"}, "(1) the keys are gone (2) I shouted A:", (" (1)", " (2)")),
        ({"answer": "letter"}, "(A) the keys are gone (B) I shouted A:", (" (A)", " (B)")),
    ],
)
def test_the_answer_is_the_statement_or_its_label(
    settings: dict[str, str], prompt: str, answers: tuple[str, str]
) -> None:
    worded = wording("qa", **settings)
    assert worded.prompt(IMPLIES).endswith(prompt)
    assert worded.answers(IMPLIES) == answers


@pytest.mark.parametrize("name", ["or", "no_choices"])
@pytest.mark.parametrize("answer", ["number", "letter"])
def test_a_prompt_without_labels_has_none_to_answer_with(name: str, answer: str) -> None:
    with pytest.raises(FiglangError, match="does not label its options"):
        wording(name, answer=answer).answers(IMPLIES)


@pytest.mark.parametrize("answer", ["number", "letter"])
@pytest.mark.parametrize(
    ("own", "usable"),
    [
        ("{stem}: {a} or {b}? (1) {a} (2) {b}", True),
        ("{stem}: {a} (1) or {b} (2)?", True),
        ("{stem}: (1) {b} (2) {a}", False),
        ("{stem}: (2) {a} (1) {b}", False),
        ("{stem}: {a} or {b}, (1) or (2)?", False),
    ],
)
def test_the_first_label_is_that_of_the_first_option(own: str, usable: bool, answer: str) -> None:
    assert Wording(templates("", own), answer=answer).has_answers is usable


def test_a_space_stands_before_an_answer_unless_nothing_or_space_is_before_it() -> None:
    assert wording("no_choices").answers(IMPLIES) == ("the keys are gone", "I shouted")
    assert Wording(templates("", "{stem}:\n"), layout="lines").answers(IMPLIES) == (
        "the keys are gone",
        "I shouted",
    )


def test_statements_may_hold_braces() -> None:
    item = Item("1", "1", "{a}", ("{stem}", "{"), 0, {"question": ("implies",)})
    assert wording("or", case="raw").prompt(item).endswith("could that imply? {stem} or {?")


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ("{premise}: {a} or {b}", "has {premise}, which is unknown"),
        ("{stem}: {} or {b}", "has {}, which is unknown"),
        ("{stem}: {a}", "shows one of the two options"),
        ("{stem}: {a} or {b", "cannot be read"),
        ("{stem:d} {a} {b}", "formats {stem}"),
        ("{stem!r} {a} {b}", "formats {stem}"),
        ("{stem} {a:>50} {b}", "formats {a}"),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_named(own: str, message: str) -> None:
    with pytest.raises(FiglangError, match=message):
        templates("", own)


def test_an_unknown_prompt_is_answered_with_the_names() -> None:
    with pytest.raises(
        FiglangError, match="choose one of or, numbered, qa, question_answer, no_choices, no_questions"
    ):
        templates("nope")


# Examples


def kind(item: Item) -> tuple[str, ...]:
    return item.attributes["question"]


def test_without_examples_a_question_stands_alone() -> None:
    assert ask([IMPLIES], wording("qa"), Shots()) == [
        Prompted(IMPLIES, wording("qa").prompt(IMPLIES), (" the keys are gone", " I shouted"))
    ]


def test_an_example_is_a_question_with_its_right_answer() -> None:
    other = Item("2", "2", "time flew", ("birds fly", "it was fun"), 1, {"question": ("implies",)})
    (asked,) = ask([IMPLIES], wording("qa"), Shots(1), [IMPLIES, other])
    assert asked.prompt == f"{wording('qa').prompt(other)} it was fun\n\n{wording('qa').prompt(IMPLIES)}"


def test_examples_of_the_empty_prompt_are_right_statements() -> None:
    other = Item("2", "2", "time flew", ("birds fly", "it was fun"), 1, {"question": ("implies",)})
    (asked,) = ask([IMPLIES], wording("no_choices"), Shots(1), [other])
    assert (asked.prompt, asked.answers) == ("it was fun\n\n", ("the keys are gone", "I shouted"))


@pytest.mark.parametrize("per", ["item", "pair", "split"])
@pytest.mark.parametrize("seed", range(2))
def test_examples_are_other_rows_of_the_same_question_type(seed: int, per: str) -> None:
    for item in SAMPLE:
        same = [other for other in SAMPLE if kind(other) == kind(item)]
        drawn = examples(item, same, Shots(5, seed, per))
        assert len({shot.group for shot in drawn} | {item.group}) == 6
        assert item.context not in {shot.context for shot in drawn}


def test_a_row_with_the_same_stem_is_no_example() -> None:
    twin = Item("2", "2", IMPLIES.context, ("x", "y"), 0, {"question": ("implies",)})
    with pytest.raises(FiglangError, match="implies needs 1 examples, but there are only 0 other rows"):
        ask([IMPLIES, twin], wording("qa"), Shots(1))


def test_draws_follow_the_seed_and_the_item_and_nothing_else() -> None:
    prompts = [asked.prompt for asked in ask(SAMPLE, wording("qa"), Shots(5, 1))]
    assert prompts == [asked.prompt for asked in ask(SAMPLE, wording("qa"), Shots(5, 1))]
    assert [asked.prompt for asked in ask(SAMPLE[7:9], wording("qa"), Shots(5, 1), SAMPLE)] == prompts[7:9]
    other = [asked.prompt for asked in ask(SAMPLE, wording("qa"), Shots(5, 2))]
    assert not any(one == two for one, two in zip(prompts, other, strict=True))


def test_the_one_example_is_the_first_of_five() -> None:
    for item in SAMPLE[:20]:
        same = [other for other in SAMPLE if kind(other) == kind(item)]
        assert examples(item, same, Shots(1)) == examples(item, same, Shots(5))[:1]


def test_the_two_orders_of_a_question_get_examples_of_their_own() -> None:
    pairs = zip(SAMPLE[::2], SAMPLE[1::2], strict=True)
    same = [examples(one, SAMPLE, Shots(5)) == examples(other, SAMPLE, Shots(5)) for one, other in pairs]
    assert not any(same)


def test_the_right_answer_of_an_example_is_first_as_often_as_second() -> None:
    golds = [
        shot.gold
        for item in SAMPLE
        for shot in examples(item, [o for o in SAMPLE if kind(o) == kind(item)], Shots(5))
    ]
    assert 0.45 < sum(gold == 0 for gold in golds) / len(golds) < 0.55


def test_one_draw_for_the_pair_or_the_split() -> None:
    implies = [item for item in SAMPLE if kind(item) == ("implies",)]

    def drawn(per: str) -> dict[str, set[tuple[str, ...]]]:
        found: dict[str, set[tuple[str, ...]]] = {}
        for item in implies:
            found.setdefault(item.group, set()).add(
                tuple(shot.id for shot in examples(item, implies, Shots(5, 0, per)))
            )
        return found

    assert all(len(draws) == 1 for draws in drawn("pair").values())
    assert len({draw for draws in drawn("pair").values() for draw in draws}) == 44
    # All but the rows that are examples themselves see the same five.
    assert len({draw for draws in drawn("split").values() for draw in draws}) == 6
