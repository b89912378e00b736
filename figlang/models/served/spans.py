"""Tokens of a prompt with their log-probabilities, read from an endpoint's answer."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite, isnan
from typing import Any, NamedTuple

from figlang.errors import FiglangError

# How to ask for the log-probabilities of a prompt: like OpenAI's legacy completions (llama-cpp-python, vLLM,
# SGLang), or by vLLM's own field. One token is generated too, because for some servers max_tokens=0 means no
# limit, and others refuse it.
PROMPT_FORMS: dict[str, dict[str, Any]] = {
    "echo": {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0},
    "prompt_logprobs": {"prompt_logprobs": 0, "max_tokens": 1, "temperature": 0},
}

# A part of a character, as servers write bytes that are not text: U+FFFD, OpenAI's `bytes:\\xe2\\x80`, or the
# `<0xE2>` of SentencePiece.
BYTES = re.compile(r"\ufffd|\\x[0-9a-f]{2}|<0x[0-9A-F]{2}>")


HIDDEN = 32  # the most characters that a token without text may stand for


class Token(NamedTuple):
    """A token of the prompt.

    A token that the endpoint put before the text has no width.

    Attributes:
        start: Where it begins in the text, in characters.
        end: Where it ends.
        log_prob: Its log-probability, in nats; None for the first token.
    """

    start: int
    end: int
    log_prob: float | None


def tokens_of(answer: Mapping[str, Any], text: str, opening: str = "") -> list[Token]:
    """The tokens of a prompt in an answer.

    Args:
        answer: The answer to one of PROMPT_FORMS.
        text: The prompt.
        opening: The special token that begins it.

    Raises:
        FiglangError: If the answer holds no log-probabilities, or if its tokens do not spell the text.
    """
    words = _words(answer)
    if not words:
        raise FiglangError(f"the endpoint's answer holds no log-probabilities of the prompt {_shown(text)}")
    spans = lay([word for word, _ in words], text, opening)
    return [Token(start, end, value) for (start, end), (_, value) in zip(spans, words, strict=False)]


def likeliest(answer: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The likeliest tokens after a prompt with their log-probabilities, likeliest first.

    Empty if they are not in the answer.
    """
    try:
        top = answer["choices"][0]["logprobs"]["top_logprobs"][0]
        return sorted(numbers(top.items()), key=lambda pair: -pair[1])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        return []


def numbers(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, float]]:
    """Tokens with their log-probabilities, without those of probability 0; none if one is not a number.

    Raises:
        TypeError, ValueError, OverflowError: One is something else than a number.
    """
    read = [(str(token), float(value)) for token, value in pairs]
    if any(isnan(value) or value == inf for _, value in read):
        return []
    return [pair for pair in read if isfinite(pair[1])]


def _words(answer: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """The text of every token with its log-probability.

    Every token but the first must have one, as a finite number. The result is empty if that is not so, or if
    the only token has none: nothing can be scored with such an answer.
    """
    try:
        choice = answer["choices"][0]
        if choice.get("prompt_logprobs"):
            # Each position maps token ids to their values. The token that stands in the prompt comes first.
            rows = [next(iter(row.values())) if row else None for row in choice["prompt_logprobs"]]
            # The first position has no entry, so its token is unknown.
            words = ["" if row is None else str(row["decoded_token"]) for row in rows]
            values = [None if row is None else row["logprob"] for row in rows]
        else:
            count = (answer.get("usage") or {}).get("prompt_tokens")
            words, values = choice["logprobs"]["tokens"][:count], choice["logprobs"]["token_logprobs"][:count]
        pairs = [
            (str(word), None if value is None else float(value))
            for word, value in zip(words, values, strict=True)
        ]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        return []
    known = [value for _, value in pairs if value is not None]
    complete = len(known) >= max(1, len(pairs) - 1) and all(value is not None for _, value in pairs[1:])
    return pairs if complete and all(map(isfinite, known)) else []


def lay(words: Sequence[str], text: str, opening: str = "") -> list[tuple[int, int]]:
    """Find where every token begins and ends in the text that the tokens spell.

    Servers differ in these points:
    - A first token that is not in the text (one that begins every string) has no width.
    - `opening`, a special token at the beginning of the text, may come as an empty token, or not at all.
    - A space before the first word may be added.
    - Parts of a character come as empty tokens or as BYTES. They share the place up to the next readable
      token, or the place of that token if it shows the whole character (vLLM). Such a token stands for at
      most one word, so that an answer which leaves out the beginning of a long text is noticed.
    - What was generated after the text is ignored.

    Args:
        words: Texts of the tokens.
        text: The text.
        opening: The special token that begins it.

    Returns:
        Begin and end of every token, in characters.

    Raises:
        FiglangError: If the tokens spell something else.
    """
    spans: list[tuple[int, int]] = []
    place = waiting = (
        0  # tokens from `waiting` on have no readable text yet; the next one begins at or after `place`
    )
    for number, word in enumerate(words):
        if place == len(text) and waiting == number:
            break
        if number == 0 and opening and word != opening:
            _check_whole(opening, word)
            place = len(opening)
            if _find(word, text, place, first=True) is None:
                spans.append((0, place))
                waiting = 1
                continue
        if not word or BYTES.search(word):
            spans.append((place, place))
            continue
        span = _find(word, text, place, first=place in (0, len(opening)), anywhere=waiting < number)
        if span is None and number:
            raise _misspelt(word, text[place : place + 40])
        begin, end = span or (0, 0)
        if begin == place == 0 and number and not waiting:
            waiting = 1  # a first token without text is the one that begins every string
        _check_hidden(text[place:begin], number - waiting)
        spans[waiting:] = [(place, begin if begin > place else end)] * (number - waiting)
        spans.append((begin, end))
        place, waiting = end, number + 1
    _check_hidden(text[place:], len(spans) - waiting)
    spans[waiting:] = [(place, len(text))] * (len(spans) - waiting)
    if waiting == len(spans) and place < len(text):
        raise FiglangError(f"the endpoint's tokens end before the text does, at {text[place : place + 40]!r}")
    return spans


def _check_whole(opening: str, first: str) -> None:
    """Check that the first token is not only the beginning of the text given as the opening token.

    Raises:
        FiglangError: If it is: then the model has no such token.
    """
    if first and opening.startswith(first):
        raise FiglangError(
            f"model.bos={opening} is not a token of this model, whose first is {first!r}; use the "
            "text of a token"
        )


def _misspelt(word: str, rest: str) -> FiglangError:
    return FiglangError(f"the endpoint's tokens do not spell the text: {word!r} is not in {rest!r}")


def _check_hidden(hidden: str, tokens: int) -> None:
    """Check that tokens without text can stand for a part of the text that no other token has.

    Raises:
        FiglangError: If there are too few of them.
    """
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
