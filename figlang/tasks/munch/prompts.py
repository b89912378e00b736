"""MUNCH's judgement prompts (Tong et al. 2024, Tables 6 and 7), by the ids of the authors' repository.

The question has two forms. `word` asks which words can replace the metaphorical word, `sentence` asks which
sentences are paraphrases. Each form has three conditions. `implicit` does not mention metaphor, `m-sent` says
that the sentence is metaphorical, `m-word` says that the word is. Each condition has three prompts. If the
question is about the word, asterisks mark it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from figlang.errors import FiglangError
from figlang.types import Item, Marked, Prompted

CONDITIONS = ("implicit", "m-sent", "m-word")
LETTERS = ("A", "B", "C", "D")
ENDING = "Correct answer: Option"


class Prompt(NamedTuple):
    """A prompt: its place in the paper's tables and its first line."""

    form: str
    condition: str
    number: int
    instruction: str


_CHOOSE = (
    "Choose the word(s) that can replace the highlighted {} without changing the meaning of the sentence."
)
_SELECT = "Select words that can replace the highlighted {} without altering the sentence's meaning."
_WHICH = "Which of the given options can replace the highlighted {} without altering the sentence's meaning?"
_PLAIN, _IN_METAPHOR = "word in the given sentence", "word in the given metaphorical sentence"
_METAPHOR = "metaphorically used word in the given sentence"
_GIVEN = "Given a sentence where the highlighted word is metaphorically used, select sentences that"

PROMPTS = {
    "CTWT52": Prompt("word", "implicit", 1, _CHOOSE.format(_PLAIN)),
    "SWTC20": Prompt("word", "implicit", 2, _SELECT.format(_PLAIN)),
    "WOTG20": Prompt("word", "implicit", 3, _WHICH.format(_PLAIN)),
    "CTWT23": Prompt("word", "m-sent", 1, _CHOOSE.format(_IN_METAPHOR)),
    "SWTC03": Prompt("word", "m-sent", 2, _SELECT.format(_IN_METAPHOR)),
    "WOTG03": Prompt("word", "m-sent", 3, _WHICH.format(_IN_METAPHOR)),
    "CTWT33": Prompt("word", "m-word", 1, _CHOOSE.format(_METAPHOR)),
    "SWTC33": Prompt("word", "m-word", 2, _SELECT.format(_METAPHOR)),
    "WOTG33": Prompt("word", "m-word", 3, _WHICH.format(_METAPHOR)),
    "CTCP10": Prompt("sentence", "implicit", 1, "Choose the correct paraphrase(s) for the given sentence."),
    "SSTP10": Prompt("sentence", "implicit", 2, "Select sentences that paraphrase the given sentence."),
    "SSTA94": Prompt(
        "sentence",
        "implicit",
        3,
        "Select sentences that are semantically equivalent to the following sentence.",
    ),
    "CTCP13": Prompt(
        "sentence", "m-sent", 1, "Choose the correct paraphrase(s) for the given metaphorical sentence."
    ),
    "SSTP13": Prompt(
        "sentence", "m-sent", 2, "Select sentences that paraphrase the given metaphorical sentence."
    ),
    "SSTA93": Prompt(
        "sentence",
        "m-sent",
        3,
        "Select sentences that are semantically equivalent to the following metaphorical sentence.",
    ),
    "YAGA10": Prompt(
        "sentence",
        "m-word",
        1,
        "You are given a sentence where the highlighted word is metaphorically used. "
        "Choose the correct paraphrase(s) for the given sentence.",
    ),
    "GASW55": Prompt("sentence", "m-word", 2, f"{_GIVEN} paraphrase this sentence."),
    "GASW94": Prompt("sentence", "m-word", 3, f"{_GIVEN} are semantically equivalent to this sentence."),
}


def body(name: str, item: Marked) -> str:
    """Word a triple as a prompt, up to the letter that answers it. If the sentence is hidden, its line is
    left out."""
    prompt = PROMPTS[name]
    highlighted = prompt.form == "word" or prompt.condition == "m-word"
    options = (f"Option {letter}: {option}" for letter, option in zip(LETTERS, item.options, strict=True))
    sentence = item.highlighted() if highlighted else item.context
    given = (f"Sentence: {sentence}",) if item.context else ()
    return "\n".join((prompt.instruction, *given, *options, ENDING))


# Turns of a conversation → one text (a tokenizer's chat template). True: the model continues the last turn.
Chat = Callable[[list[dict[str, str]], bool], str]


def as_chat(text: str, way: str, template: Chat) -> str:
    """Put a prompt into a conversation. `prefill`: the last line begins the model's answer. `user`: the last
    line is part of the question."""
    if way == "user":
        return template([{"role": "user", "content": text}], False)
    asked, _, begun = text.rpartition("\n")
    return template([{"role": "user", "content": asked}, {"role": "assistant", "content": begun}], True)


def ask(
    items: Sequence[Item], name: str, chat: str = "none", template: Chat | None = None, blind: bool = False
) -> list[Prompted]:
    """Word triples as a prompt whose answers are the four letters. With `blind`, the sentence is left out.

    Raises FiglangError for items that are not judgements of the prompt's form.

    Args:
        items: The items.
        name: Id of the prompt.
        chat: `none`, `prefill` or `user`.
        template: Makes a text of a conversation; None without a chat.
        blind: Whether the sentence is hidden.
    """
    form = form_of(name)
    asked = []
    for item in items:
        if not isinstance(item, Marked) or item.attributes.get("form") != (form,):
            others = ", ".join(other for other, prompt in PROMPTS.items() if prompt.form != form)
            raise FiglangError(
                f"prompt {name} asks about {form}s of MUNCH; use data=munch_{form}, or one of {others}"
            )
        text = body(name, item.hidden() if blind else item)
        asked.append(
            Prompted(
                item,
                text if template is None else as_chat(text, chat, template),
                tuple(f" {letter}" for letter in LETTERS),
            )
        )
    return asked


def by_prompt(items: Sequence[Item], names: Sequence[str]) -> dict[str, list[Item]]:
    """Find the items that each prompt asks about. Without `names`, all prompts that have items are taken.

    Raises FiglangError for a prompt that does not exist or has no items.
    """
    forms: dict[str, list[Item]] = {}
    for item in items:
        for form in item.attributes.get("form", ()):
            forms.setdefault(form, []).append(item)
    if not forms:
        raise FiglangError(
            "these are not MUNCH's judgements; use data=munch, munch_word, munch_sentence or munch_sample"
        )
    wanted = names or [name for name, prompt in PROMPTS.items() if prompt.form in forms]
    if other := next((name for name in wanted if form_of(name) not in forms), None):
        raise FiglangError(
            f"prompt {other} asks about {form_of(other)}s, but the items have another form; use data=munch"
        )
    return {name: forms[form_of(name)] for name in wanted}


def form_of(name: str) -> str:
    """The form of a prompt's question. Raises FiglangError if there is no such prompt."""
    if name not in PROMPTS:
        raise FiglangError(f"{name!r} is not a judgement prompt of MUNCH; choose one of {', '.join(PROMPTS)}")
    return PROMPTS[name].form
