"""MUNCH's generation prompts (Tong et al. 2024, Table 8), in both forms. Their ids are those of the authors'
repository.

`quote` (for LLaMA): `*[blank]*` replaces the target, and a last line up to a quotation mark asks for the
blank. `insert` (for GPT-3.5): the answer is inserted between two asterisks, so the model also reads the rest
of the sentence.
"""

from collections.abc import Sequence
from typing import NamedTuple

from figlang.errors import FiglangError
from figlang.types import Blank, Item, Marked

FORMS = ("quote", "insert")


class Prompt(NamedTuple):
    """A prompt: its place in the paper's table, its first line, and the text before the new sentence."""

    number: int
    instruction: str
    label: str


PROMPTS = {
    "PTGS54": Prompt(
        1,
        "Paraphrase the given sentence by substituting the highlighted word with another word. The "
        "substitution should be a single word.",
        "Paraphrase",
    ),
    "UASW92": Prompt(
        2,
        "Use a single word to replace the highlighted word in the given sentence, so that the new sentence "
        "and the given sentence mean the same thing.",
        "New sentence",
    ),
    "GASW45": Prompt(
        3,
        "Given a sentence with a highlighted word, replace this word with a different word to make a "
        "paraphrase.",
        "Paraphrase",
    ),
}


def ask(items: Sequence[Item], name: str, form: str = "quote") -> list[Blank]:
    """Word the sentences as a prompt, each with a blank for the answer. Raises FiglangError if the prompt is
    unknown, or if items have no answers.
    """
    if name not in PROMPTS:
        raise FiglangError(
            f"{name!r} is not a generation prompt of MUNCH; choose one of {', '.join(PROMPTS)}"
        )
    blanks = []
    for item in items:
        if not isinstance(item, Marked) or not item.blank:
            raise FiglangError(f"{item.id} has no answers that people gave; use data=munch_generation")
        blanks.append(_blank(item, PROMPTS[name], form))
    return blanks


def _blank(item: Marked, prompt: Prompt, form: str) -> Blank:
    lines = f"{prompt.instruction}\nSentence: {item.highlighted()}\n{prompt.label}: "
    if form == "quote":
        cue = ' should be "'
        return Blank(item, f"{lines}{item.highlighted(word='[blank]')}\n[blank]{cue}", "", cue)
    start, end = item.target
    return Blank(item, f"{lines}{item.context[:start]}*", f"*{item.context[end:]}")
