"""Cut texts into words by Unicode's rules (UAX 29), and measure how alike two texts are as sets of words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import ceil

import regex

Words = tuple[str, ...]
_EDGE = regex.compile(r"(?V1)(?w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
# Scripts without spaces between words. Unicode's rules cut them into characters.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Laoo}\p{Khmr}\p{Mymr}\p{Tibt}\p{Java}\p{Bali}]"
)
CHARACTERS = 2  # in such a script, this many characters count as one word


def words(text: str) -> Words:
    """The lower-case words of a text, without punctuation; single characters in scripts without spaces."""
    folded = text.casefold().replace("’", "'")
    return tuple(part for part in _EDGE.split(folded) if _WORD.search(part))


def per_word(segments: Words) -> int:
    """How many segments make a word: one, or CHARACTERS if most are of a script without spaces."""
    return (
        CHARACTERS if 2 * sum(_UNSPACED.match(word) is not None for word in segments) > len(segments) else 1
    )


def tokens(text: str) -> frozenset[str]:
    """The set by which texts are compared.

    It holds words, or the pairs of neighbouring characters in scripts without spaces.
    """
    segments = words(text)
    size = per_word(segments)
    return frozenset(" ".join(segments[start : start + size]) for start in range(len(segments) - size + 1))


def twins(
    evaluated: Mapping[str, frozenset[str]], trained: Iterable[tuple[str, frozenset[str]]], least: float
) -> dict[str, tuple[str, float]]:
    """For every evaluated text, find the training text that is most like it.

    The measure is Jaccard similarity. The result is exact: two sets that are at least that similar share one
    of the rarest tokens of each (Bayardo, Ma & Srikant 2007), so only those are looked up. Of equally similar
    training texts, the first one counts.

    Args:
        evaluated: Tokens by id.
        trained: Ids with tokens, read once.
        least: Smallest similarity, above 0 and at most 1.

    Returns:
        By the id of an evaluated text, the id of its twin and their similarity. Texts without a twin are left
        out.
    """
    count = Counter(token for text_tokens in evaluated.values() for token in text_tokens)

    def rarest(text_tokens: frozenset[str]) -> list[str]:
        kept = len(text_tokens) - ceil(least * len(text_tokens) - 1e-9) + 1
        return sorted(text_tokens, key=lambda token: (count[token], token))[:kept]

    index: dict[str, list[str]] = defaultdict(list)
    for name, text_tokens in evaluated.items():
        for token in rarest(text_tokens):
            index[token].append(name)
    nearest: dict[str, tuple[str, float]] = {}
    for trained_id, text_tokens in trained:
        for evaluated_id in {name for token in rarest(text_tokens) for name in index.get(token, ())}:
            both = len(text_tokens & evaluated[evaluated_id])
            alike = both / (len(text_tokens) + len(evaluated[evaluated_id]) - both)
            if alike >= least and alike > nearest.get(evaluated_id, ("", 0.0))[1]:
                nearest[evaluated_id] = (trained_id, alike)
    return nearest


def neighbours(texts: Mapping[str, frozenset[str]], least: float) -> Iterator[tuple[str, str, float]]:
    """Every two texts that are alike, by the measure of `twins` and as exactly.

    Args:
        texts: Tokens by id.
        least: Smallest similarity, above 0 and at most 1.

    Yields:
        The id of the earlier text, that of the later one, and their similarity.
    """
    count = Counter(token for text_tokens in texts.values() for token in text_tokens)
    index: dict[str, list[str]] = defaultdict(list)
    for name, text_tokens in texts.items():
        kept = len(text_tokens) - ceil(least * len(text_tokens) - 1e-9) + 1
        rare = sorted(text_tokens, key=lambda token: (count[token], token))[:kept]
        for other in dict.fromkeys(other for token in rare for other in index[token]):
            both = len(text_tokens & texts[other])
            alike = both / (len(text_tokens) + len(texts[other]) - both)
            if alike >= least:
                yield other, name, alike
        for token in rare:
            index[token].append(name)
