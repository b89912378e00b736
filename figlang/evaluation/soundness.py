"""Checks of an evaluation: why scores are not numbers, and which texts a tokenizer does not know."""

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError, NonFiniteError
from figlang.models.checkpoint import Served
from figlang.models.hosted.opened import Hosted, Opened
from figlang.runs.legibility import COUNTS, NO_LETTERS, UNFAMILIAR
from figlang.types import Item

log = logging.getLogger("figlang")

TOGETHER = 4096  # items whose texts are tokenised at a time, which bounds the memory
LANGUAGE = "language"  # the attribute of items by which texts are counted
# Scripts of which a character is a word or a syllable: a token for each is how they are read.
SYLLABIC = ("CJK", "Hiragana", "Katakana", "Hangul", "Ethiopic", "Yi")
ZERO = {"tokens": 0, "unknown": 0, "characters": 0, "syllabic": 0, "dropped": 0}


@contextmanager
def explained(loaded: Opened) -> Iterator[None]:
    """A context in which errors about scores that are not finite also name the cause."""
    try:
        yield
    except NonFiniteError as error:
        raise FiglangError(f"{error}; {_cause(loaded)}; nothing was written") from error


def _cause(loaded: Opened) -> str:
    if isinstance(loaded, Served):
        return (
            f"the endpoint of {loaded.manifest.name} gave such log-probabilities; check the server and its "
            "weights"
        )
    if isinstance(loaded, Hosted):
        return f"vLLM computed them from {loaded.manifest.name}; try model.engine=transformers"
    for name, weight in loaded.network.named_parameters():
        if weight.is_floating_point() and (bad := int((~weight.isfinite()).sum())):
            return (
                f"{bad} of {weight.numel()} weights in {name} of {loaded.manifest.name} are not finite; "
                "export or download it again"
            )
    name = loaded.manifest.name
    if all(
        weight.dtype == torch.float32 for weight in loaded.network.parameters() if weight.is_floating_point()
    ):
        return (
            f"the weights of {name} are finite, so its arithmetic overflows or an option has probability "
            "0; use other weights"
        )
    return f"the weights of {name} are finite, so its arithmetic overflows; use model.dtype=float32"


@dataclass(frozen=True)
class Unknown:
    """Counts of unknown tokens, and of items with one in the context or an option.

    `scripts` are the writing systems of the unknown words, most frequent first, as Unicode names them;
    `words` are examples.
    """

    tokens: int
    unknown: int
    items: int
    scripts: tuple[str, ...]
    words: tuple[str, ...]


def unknown_tokens(tokenizer: PreTrainedTokenizerBase, items: Sequence[Item]) -> Unknown | None:
    """Count unknown tokens in the items' texts. None if the tokenizer knows every text, as byte-level ones
    do."""
    if tokenizer.unk_token_id is None or not getattr(tokenizer, "is_fast", False):
        return None
    model = tokenizer.backend_tokenizer.model
    if isinstance(model, BPE) and (model.unk_token is None or model.byte_fallback):
        return None
    total = unknown = within = 0
    scripts: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for start in range(0, len(items), TOGETHER):
        some = items[start : start + TOGETHER]
        texts = [(text, place) for place, item in enumerate(some) for text in item.texts]
        encodings = tokenizer.backend_tokenizer.encode_batch(
            [text for text, _ in texts], add_special_tokens=False
        )
        hit = set()
        for (text, place), encoding in zip(texts, encodings, strict=True):
            total += len(encoding.ids)
            if tokenizer.unk_token_id not in encoding.ids:
                continue
            hit.add(place)
            for token, (first, last) in zip(encoding.ids, encoding.offsets, strict=True):
                if token == tokenizer.unk_token_id:
                    unknown += 1
                    words[text[first:last]] += 1
                    scripts.update({_script(letter) for letter in text[first:last] if letter.isalpha()})
        within += len(hit)
    listed = tuple(name for name, _ in scripts.most_common(3))
    return Unknown(total, unknown, within, listed, tuple(word for word, _ in words.most_common(3)))


def _script(letter: str) -> str:
    # The first word of a letter's name is its script: KANNADA LETTER KA, CJK UNIFIED IDEOGRAPH-4E00.
    name = unicodedata.name(letter, "UNNAMED").split()[0]
    return name if name == "CJK" else name.capitalize()


def tokens_by_language(
    tokenizer: PreTrainedTokenizerBase, items: Sequence[Item]
) -> dict[str, dict[str, int]]:
    """Count how the tokenizer reads the texts of each language.

    Args:
        tokenizer: The tokenizer of the model.
        items: Items. Their language is the attribute `language`, or else the script of most of their letters.

    Returns:
        By language: the tokens, the unknown ones among them, the characters without spaces, those of them
        that are a word or a syllable, and the accents and vowel signs that the tokenizer leaves out. Empty
        for a tokenizer that is written in Python.
    """
    if not getattr(tokenizer, "is_fast", False):
        return {}
    backend = tokenizer.backend_tokenizer
    counts: dict[str, Counter[str]] = {}
    for start in range(0, len(items), TOGETHER):
        texts = [(text, _language(item)) for item in items[start : start + TOGETHER] for text in item.texts]
        encodings = backend.encode_batch([text for text, _ in texts], add_special_tokens=False)
        for (text, language), encoding in zip(texts, encodings, strict=True):
            count = counts.setdefault(language, Counter(ZERO))
            count["tokens"] += len(encoding.ids)
            count["unknown"] += encoding.ids.count(tokenizer.unk_token_id)
            characters = "".join(unicodedata.normalize("NFC", text).split())
            count["characters"] += len(characters)
            if not text.isascii():
                count["syllabic"] += sum(_script(one) in SYLLABIC for one in characters)
            if backend.normalizer is not None and not text.isascii():
                count["dropped"] += max(0, _marks(text) - _marks(backend.normalizer.normalize_str(text)))
    return {language: dict(count) for language, count in sorted(counts.items()) if count["characters"]}


def _language(item: Item) -> str:
    if named := item.attributes.get(LANGUAGE):
        return named[0]
    scripts = Counter(_script(letter) for text in item.texts for letter in text if letter.isalpha())
    return scripts.most_common(1)[0][0] if scripts else NO_LETTERS


def _marks(text: str) -> int:
    return sum(unicodedata.category(character)[0] == "M" for character in unicodedata.normalize("NFD", text))


def texts(loaded: Opened, items: Sequence[Item]) -> dict[str, Any]:
    """The parts of metrics.json about the tokenizer, with a warning if it does not know the texts.

    Args:
        loaded: The model.
        items: The evaluated items.

    Returns:
        `tokens_by_language`, and `unknown_tokens` if the tokenizer can have such. Empty for a served model,
        whose tokenizer is not here.
    """
    if isinstance(loaded, Served):
        return {}
    by_language = tokens_by_language(loaded.tokenizer, items)
    beside = {COUNTS: by_language} if by_language else {}
    counts = unknown_tokens(loaded.tokenizer, items)
    if counts is None:
        return beside
    # A few are said once, below the result.
    if counts.unknown and counts.unknown >= UNFAMILIAR * counts.tokens:
        counted = (
            f"{counts.unknown:,} of {counts.tokens:,} tokens, in {counts.items:,} of {len(items):,} items"
        )
        examples = ", ".join(map(repr, counts.words))
        script = " and ".join(counts.scripts) or "these marks"
        log.warning(
            "the tokenizer of %s does not know the script (%s): %s are unknown to it, %s for example. "
            "The choices say little; use a model that was trained on this language",
            *(loaded.manifest.name, script, counted, examples),
        )
    about = {
        "tokens": counts.tokens,
        "unknown": counts.unknown,
        "items": counts.items,
        "scripts": list(counts.scripts),
        "words": list(counts.words),
    }
    return {"unknown_tokens": about} | beside
