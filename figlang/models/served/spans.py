"""Tokens of a prompt and their log-probabilities, read from an endpoint's answer and laid onto the text that
was sent."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from figlang.errors import FiglangError

# How to ask for the log-probabilities of a prompt: as OpenAI's legacy completions do (llama-cpp-python, vLLM,
# SGLang), or by vLLM's own field. One token is generated too: some servers take max_tokens=0 for "no limit",
# others refuse it.
PROMPT_FORMS: dict[str, dict[str, Any]] = {
    "echo": {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0},
    "prompt_logprobs": {"prompt_logprobs": 0, "max_tokens": 1, "temperature": 0},
}

# A part of a character, as servers write what is no text: U+FFFD, OpenAI's `bytes:\\xe2\\x80`, the `<0xE2>`
# of SentencePiece.
BYTES = re.compile(r"\ufffd|\\x[0-9a-f]{2}|<0x[0-9A-F]{2}>")


HIDDEN = 32  # the most characters that a token which is not shown may stand for


class Token(NamedTuple):
    """Where a token of the prompt begins and ends in the text, in characters, and its log-probability; the
    first has none.

    A token that the endpoint put before the text has no width.
    """

    start: int
    end: int
    log_prob: float | None


def tokens_of(answer: Mapping[str, Any], text: str, opening: str = "") -> list[Token]:
    """The tokens of the prompt `text` in an answer to either of PROMPT_FORMS; `opening` is the special token
    that begins it.

    Raises FiglangError if the answer holds no log-probability, or if its tokens do not spell the text.
    """
    found = _words(answer)
    if not found:
        raise FiglangError(f"the endpoint's answer holds no log-probabilities of the prompt {_shown(text)}")
    spans = lay([word for word, _ in found], text, opening)
    return [Token(start, end, value) for (start, end), (_, value) in zip(spans, found, strict=False)]


def likeliest(answer: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The likeliest tokens after a prompt with their log-probabilities, likeliest first; empty if that is not
    in the answer."""
    try:
        found = answer["choices"][0]["logprobs"]["top_logprobs"][0]
        return sorted(((str(token), float(value)) for token, value in found.items()), key=lambda one: -one[1])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return []


def _words(answer: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """The text of every token with its log-probability, a finite number that none but the first may lack.

    Empty if that is not in the answer, or if the first token is all there is and lacks it: nothing can be
    scored by that.
    """
    try:
        choice = answer["choices"][0]
        if choice.get("prompt_logprobs"):
            # A position maps token ids to what is known of them; the one that stands in the prompt comes
            # first.
            rows = [next(iter(row.values())) if row else None for row in choice["prompt_logprobs"]]
            # The first position has no entry, so nothing says which token it is.
            words = ["" if row is None else str(row["decoded_token"]) for row in rows]
            values = [None if row is None else row["logprob"] for row in rows]
        else:
            count = (answer.get("usage") or {}).get("prompt_tokens")
            words, values = choice["logprobs"]["tokens"][:count], choice["logprobs"]["token_logprobs"][:count]
        found = [
            (str(word), None if value is None else float(value))
            for word, value in zip(words, values, strict=True)
        ]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return []
    known = [value for _, value in found if value is not None]
    whole = len(known) >= max(1, len(found) - 1) and all(value is not None for _, value in found[1:])
    return found if whole and all(map(isfinite, known)) else []


def lay(words: Sequence[str], text: str, opening: str = "") -> list[tuple[int, int]]:
    """Begin and end of every token in the text, which the tokens spell one after the other.

    Servers make exceptions: a first token that is not of the text (one that begins every string) has no
    width; `opening`, a special token at the beginning of the text, may come as nothing, or not at all; a
    space before the first word may be added; parts of a character come as nothing or as BYTES, and share the
    place up to the next token that can be read, or that token's place if the character as a whole is shown
    there (vLLM). Such a token stands for one word at most: an answer that leaves out the beginning of a long
    text is not taken for one. What is generated after the text is left out.

    Raises FiglangError if they spell something else.
    """
    spans: list[tuple[int, int]] = []
    place = waiting = (
        0  # tokens from `waiting` on have no readable text; the next one begins at or after `place`
    )
    for number, word in enumerate(words):
        if place == len(text) and waiting == number:
            break
        if number == 0 and opening and word != opening:
            if word and opening.startswith(word):
                raise FiglangError(
                    f"model.bos={opening} is no token of this model, whose first is {word!r}; use the text "
                    "of one"
                )
            place = len(opening)
            if _find(word, text, place, first=True) is None:
                spans.append((0, place))
                waiting = 1
                continue
        if not word or BYTES.search(word):
            spans.append((place, place))
            continue
        found = _find(word, text, place, first=place in (0, len(opening)), anywhere=waiting < number)
        if found is None and number:
            raise FiglangError(
                f"the endpoint's tokens do not spell the text: {word!r} is not in "
                f"{text[place : place + 40]!r}"
            )
        begin, end = found or (0, 0)
        if begin == place == 0 and number and not waiting:
            waiting = 1  # a first token without text is one that begins every string
        _check_hidden(text[place:begin], number - waiting)
        spans[waiting:] = [(place, begin if begin > place else end)] * (number - waiting)
        spans.append((begin, end))
        place, waiting = end, number + 1
    _check_hidden(text[place:], len(spans) - waiting)
    spans[waiting:] = [(place, len(text))] * (len(spans) - waiting)
    if waiting == len(spans) and place < len(text):
        raise FiglangError(f"the endpoint's tokens end before the text does, at {text[place : place + 40]!r}")
    return spans


def _check_hidden(hidden: str, tokens: int) -> None:
    """Raises FiglangError if so many tokens without text cannot stand for what nothing else does."""
    if tokens and (len(hidden.split()) > tokens or len(hidden.strip()) > HIDDEN * tokens):
        raise FiglangError(f"the endpoint's tokens leave out a part of the text: {_shown(hidden)}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _find(word: str, text: str, place: int, first: bool, anywhere: bool = False) -> tuple[int, int] | None:
    for form in (word, word.removeprefix(" ")) if first else (word,):
        begin = text.find(form, place) if anywhere else place
        if form and begin >= 0 and text.startswith(form, begin):
            return begin, begin + len(form)
    return None
