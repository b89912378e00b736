"""Words that a language model writes at a blank: the text of its tokens, and where a word ends."""

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

# Within a word, these join its parts, for example in head-office and don't.
JOINERS = "-‐‑'’"
REPLACEMENT = "�"  # stands for bytes that are not a whole character yet


def leading_word(text: str) -> tuple[str, bool]:
    """The word at the beginning of a text, after at most one space, and whether it has ended.

    White space, punctuation and quotation marks end a word. A hyphen or an apostrophe between letters or
    digits does not. So a text that ends with one of them has not ended its word.
    """
    text = text.removeprefix(" ")
    for place, letter in enumerate(text):
        if _in_word(letter):
            continue
        joins = letter in JOINERS and place > 0 and _in_word(text[place - 1])
        if joins and place + 1 == len(text):
            break
        if not joins or not _in_word(text[place + 1]):
            return text[:place], True
    return text, False


def _in_word(letter: str) -> bool:
    return unicodedata.category(letter)[0] not in "PZC"


@dataclass(frozen=True)
class Comparison:
    """When a text is an answer.

    Attributes:
        fold: Ignore upper and lower case.
        space: Allow a space before the first token.
    """

    fold: bool = True
    space: bool = True

    def key(self, word: str) -> str:
        return word.casefold() if self.fold else word

    def written(self, text: str) -> str | None:
        """The part of a text that is compared; None if it begins with a space that is not allowed."""
        if text.startswith(" "):
            return self.key(text[1:]) if self.space else None
        return self.key(text)


class TokenTexts:
    """The text of every token within a string. A tokenizer's own decoding drops spaces at the beginning."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._backend = tokenizer.backend_tokenizer
        self.special = frozenset(tokenizer.all_special_ids)
        self._anchor = tokenizer.encode('"', add_special_tokens=False)[-1]
        self._before = len(self._backend.decode([self._anchor]))
        self._texts = [
            text[self._before :]
            for text in self._backend.decode_batch([[self._anchor, token] for token in range(len(tokenizer))])
        ]

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, tokens: Sequence[int]) -> str:
        """The text of tokens behind other text. Special tokens have none."""
        if len(tokens) == 1:
            return self._texts[tokens[0]] if tokens[0] < len(self._texts) else ""
        return str(self._backend.decode([self._anchor, *tokens]))[self._before :]

    def beginnings(self, comparison: Comparison) -> Mapping[str, list[int]]:
        """Tokens by the compared part of their text, without those that cannot begin a word."""
        by_text: dict[str, list[int]] = defaultdict(list)
        for token, text in enumerate(self._texts):
            if REPLACEMENT not in text and (written := comparison.written(text)):
                by_text[written].append(token)
        return by_text
