"""MUNCH's judgement prompts (figlang/tasks/munch/prompts.py): string by string, and word for word those of
the authors."""

import re
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.tasks.munch.prompts import PROMPTS, as_chat, ask, body, by_prompt
from figlang.tasks.munch.reading import BOTH, NEITHER
from figlang.types import Item, Marked
from tests.conftest import published

ATTRIBUTES = {"genre": ("NEWS",)}


def item(form: str, *options: str) -> Marked:
    found = (*options, BOTH, NEITHER)
    return Marked(
        form, "g", "Prices fell and fell.", found, 0, ATTRIBUTES | {"form": (form,)}, target=(16, 20)
    )


WORD, SENTENCE = (
    item("word", "dropped", "tripped"),
    item("sentence", "Prices fell and dropped.", "Prices fell and tripped."),
)
ENDING = (
    "Option C: Both Option A and Option B\nOption D: Neither Option A nor Option B\nCorrect answer: Option"
)


def test_a_word_judgement() -> None:
    assert body("SWTC03", WORD) == (
        "Select words that can replace the highlighted word in the given metaphorical sentence without "
        "altering the sentence's "
        f"meaning.\nSentence: Prices fell and *fell*.\nOption A: dropped\nOption B: tripped\n{ENDING}"
    )


@pytest.mark.parametrize(
    ("name", "sentence"), [("CTCP10", "fell."), ("CTCP13", "fell."), ("YAGA10", "*fell*.")]
)
def test_the_word_is_highlighted_in_sentence_judgement_only_if_the_question_is_about_it(
    name: str, sentence: str
) -> None:
    text = body(name, SENTENCE)
    assert f"\nSentence: Prices fell and {sentence}\nOption A: Prices fell and dropped.\n" in text
    assert text.endswith(f"\nOption B: Prices fell and tripped.\n{ENDING}")


def test_there_are_three_prompts_in_each_of_six_conditions() -> None:
    places = {prompt[:3] for prompt in PROMPTS.values()}
    assert len(places) == len(PROMPTS) == 18
    assert len({place[:2] for place in places}) == 6
    assert {place[2] for place in places} == {1, 2, 3}


def test_answers_are_the_letters() -> None:
    (asked,) = ask([WORD], "CTWT52")
    assert asked.answers == (" A", " B", " C", " D")
    assert asked.prompt == body("CTWT52", WORD)


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        (
            "CTWT52",
            SENTENCE,
            "prompt CTWT52 asks about words of MUNCH; use data=munch_word, or one of CTCP10",
        ),
        ("CTCP10", WORD, "asks about sentences of MUNCH; use data=munch_sentence, or one of CTWT52"),
        ("CTWT52", Item("1", "1", "c", ("a", "b"), 0), "use data=munch_word"),
        ("CTWT5", WORD, "'CTWT5' is not a judgement prompt of MUNCH; choose one of CTWT52, SWTC20"),
    ],
)
def test_a_prompt_of_another_form_is_refused(name: str, asked: Item, message: str) -> None:
    with pytest.raises(FiglangError, match=message):
        ask([asked], name)


def test_prompts_get_the_items_of_their_form() -> None:
    found = by_prompt([WORD, SENTENCE], [])
    assert list(found) == list(PROMPTS)
    assert all(items == [WORD if PROMPTS[name].form == "word" else SENTENCE] for name, items in found.items())
    assert {PROMPTS[name].form for name in by_prompt([WORD], [])} == {"word"}
    assert list(by_prompt([WORD], ["WOTG20"])) == ["WOTG20"]
    with pytest.raises(
        FiglangError,
        match="prompt CTCP10 asks about sentences, but the items have another form; use data=munch",
    ):
        by_prompt([WORD], ["CTCP10"])
    with pytest.raises(FiglangError, match="these are not MUNCH's judgements"):
        by_prompt([Item("1", "1", "c", ("a", "b"), 0)], [])


def test_a_conversation_begins_the_answer_or_leaves_it_to_the_model() -> None:
    def template(messages: list[dict[str, str]], begun: bool) -> str:
        return "".join(f"<{turn['role']}>{turn['content']}" for turn in messages) + (
            "" if begun else "<assistant>"
        )

    assert as_chat("Which?\nAnswer:", "prefill", template) == "<user>Which?<assistant>Answer:"
    assert as_chat("Which?\nAnswer:", "user", template) == "<user>Which?\nAnswer:<assistant>"


def test_the_prompts_are_those_of_the_authors() -> None:
    text = (Path(published("munch/tasks/prompts.md")) / "munch/tasks/prompts.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"^#+ (\w+)\n\n```\n(.*?)\n```", text, re.MULTILINE | re.DOTALL))
    for name, prompt in PROMPTS.items():
        kind = "substitution" if prompt.form == "word" else "paraphrase"
        places = {"original_sentence": "{s}", f"{kind}_a": "{a}", f"{kind}_b": "{b}"}
        expected = found[name]
        for place, short in places.items():
            expected = expected.replace(f"{{{place}}}", short)
        asked = Marked(
            "1", "1", "{s}", ("{a}", "{b}", BOTH, NEITHER), 0, {"form": (prompt.form,)}, target=(0, 3)
        )
        # The highlight is no part of the authors' templates but of their sentences.
        assert body(name, asked).replace("*", "") == expected
        heading = {"implicit": "Implicit", "m-sent": "M-sent", "m-word": "M-word"}[prompt.condition]
        section = text[: text.index(f"#### {name}")].rpartition("### ")[2] if f"#### {name}" in text else ""
        before = [line for line in text[: text.index(name)].splitlines() if "judgement: " in line][-1]
        assert before.endswith(f"{prompt.form.capitalize()} judgement: {heading}"), section
