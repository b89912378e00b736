"""Choices by the letter in a model's reply, read strictly: what names no option, or several, is invalid and counts as wrong."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any

from figlang.prompts.lettered import Lettered
from figlang.types import Prediction

# Reasoning before the answer, as open models write it. Chat templates may open it, so that only its end is in the reply.
THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", flags=re.DOTALL)
OPENED = re.compile(r"<(?:think|thinking|reasoning)>")
CLOSED = re.compile(r"</(?:think|thinking|reasoning)>")
BOXED = re.compile(r"\$?\\boxed\{(?:\\text\{)?\(?([A-Z])\)?\}{1,2}\$?")
MARKS = re.compile(r"[*_`\"'“”‘’]")
# What turns down an option behind its label, and the other side of "the answer is" in the same clause; apostrophes are taken out.
SAYS = r"is|was|does|do|can|could|would|will|seems|(?:is|was|does|could|would)nt|cannot|cant"
RIGHT = r"(?:be )?(?:the )?(?:right|correct|best|better|closest|answer)\b"
REJECTED = rf"(?! *(?:{SAYS})\b(?! *{RIGHT}))"
DENIAL = re.compile(
    r"\b(?:if|not|never|wrong|incorrect|cannot|(?:do|does|did|is|ca|wo|would)nt)\b[^.,:;!?\n]*$", flags=re.IGNORECASE
)


def final(reply: str) -> str:
    """What a reply says after its reasoning; nothing if the reasoning was cut off."""
    text = CLOSED.split(THOUGHT.sub(" ", reply))[-1]
    return "" if OPENED.search(text) else text


def letter(reply: str, options: int) -> str | None:
    """The letter of the option that a reply names as its answer; None if it names none, or no single one.

    Taken are, in this order and after any reasoning in `<think>…</think>`: a letter that is all of the last line ("B", "(B).",
    "Answer: B"); the last "the answer is B", "B is correct" or boxed B; a letter that is all of the first line; the only label
    before an option's words ("(B) She is kind", "B. She is kind"). An option's words without its letter are no answer, and
    reasoning that was cut off has none. Nor is a letter that is turned down ("(A) is wrong", "I don't think the answer is A"), or
    a list of several.
    """
    lines = [line.strip() for line in MARKS.sub("", BOXED.sub(r"answer \1", final(reply))).splitlines() if line.strip()]
    if not lines:
        return None
    one = f"[{ascii_uppercase[:options]}]"
    lead = r"(?i:(?:so |thus,? )?(?:(?:the|my) )?(?:(?:final|correct|best) )?(?:answer|option|choice)(?: is)?:? *(?:option )?)"
    # "A" may be an article: a bare letter has to end its clause, or to be followed by a reason; and it has to be the only one.
    end = rf"(?= *(?:[.,:;!)\n]|$|[–—-] | because\b| since\b))(?! *(?:,|/|and\b|or\b) *\(?{one}\b)"
    label = rf"(?:\(({one})\)(?! *(?:,|/|and\b|or\b) *\(?{one}\b)|({one}){end})"
    alone = re.compile(rf"{lead}?{label}[.!:)]?")
    said = rf"\b(?i:answer|choice|choose|pick|select)(?i: is| would be)?:? *(?i:option )?{label}"
    called = rf"(?<!or )(?<!and )(?:\(({one})\)|\b({one})) is (?i:the |my )?(?i:(?:final|right|correct|best|better) )*"
    stated = re.compile(rf"{said}|{called}(?i:answer|choice|option|right|correct)\b")
    bare, text = [alone.fullmatch(line) for line in lines], "\n".join(lines)
    if all(bare) and len({_of(found) for found in bare if found}) > 1:
        return None
    if found := bare[-1]:
        return _of(found)
    if several := [found for found in stated.finditer(text) if not DENIAL.search(text[: found.start()])]:
        return _of(several[-1])
    if found := bare[0]:
        return _of(found)
    labels = {_of(found) for found in re.finditer(rf"\(({one})\){REJECTED}|^({one})[.):] *\S", text, flags=re.MULTILINE)}
    begins = any(re.match(rf"\(?{one}[.):]", line) for line in lines)
    return labels.pop() if len(labels) == 1 and begins else None


@dataclass(frozen=True)
class Answered:
    """A reply to the message about an item, the letter it names or None, and whether it ran into the limit of tokens."""

    id: str
    message: str
    reply: str
    letter: str | None
    cut: bool

    def record(self) -> dict[str, Any]:
        return asdict(self)


def choose(asked: Sequence[Lettered], replies: Sequence[tuple[str, bool]]) -> tuple[list[Prediction], list[Answered]]:
    """Predictions of all items, and what they were read from, by the replies and whether each was cut.

    The option that is named scores 1 and the others 0, so that an invalid answer is a tie. Scores are in the order of the options
    of the item that the prediction is named by.
    """
    predictions, answered = [], []
    for one, (text, cut) in zip(asked, replies, strict=True):
        count = len(one.item.options)
        named = letter(text, count)
        answered.append(Answered(one.item.id, one.message, text, named, cut))
        chosen = None if named is None else ascii_uppercase.index(named)
        # An item asked in a drawn order is still the item that was read: its scores go back to its own order.
        own = one.source if one.item.id == one.source.id else one.item
        places = one.places if own is one.source else tuple(range(count))
        scores = tuple(float(place == chosen) for place in places)
        predictions.append(Prediction.of(own, scores))
    return predictions, answered


def _of(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)
