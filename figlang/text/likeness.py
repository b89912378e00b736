"""Texts cut into words by Unicode's rules (UAX 29), to be compared: runs of them, and how alike two texts are
as sets of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import ceil

import regex

Words = tuple[str, ...]
_EDGE = regex.compile(r"(?V1)(?w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
# Scripts without spaces between words: Unicode's rules alone do not find these, and cut them into characters.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Laoo}\p{Khmr}\p{Mymr}\p{Tibt}\p{Java}\p{Bali}]"
)
CHARACTERS = 2  # in such a script, so many characters count as one word


def words(text: str) -> Words:
    """The lower-case words of a text without punctuation; characters where a script has no spaces between
    words."""
    folded = text.casefold().replace("’", "'")
    return tuple(part for part in _EDGE.split(folded) if _WORD.search(part))


def per_word(found: Words) -> int:
    """How many of these segments make a word: one, or CHARACTERS if most are of a script without spaces."""
    return CHARACTERS if 2 * sum(_UNSPACED.match(word) is not None for word in found) > len(found) else 1


def tokens(text: str) -> frozenset[str]:
    """What texts are compared by as sets: words, or the pairs of neighbouring characters of a script without
    spaces."""
    found = words(text)
    size = per_word(found)
    return frozenset(" ".join(found[start : start + size]) for start in range(len(found) - size + 1))


def twins(
    evaluated: Mapping[str, frozenset[str]], trained: Iterable[tuple[str, frozenset[str]]], least: float
) -> dict[str, tuple[str, float]]:
    """For every evaluated text the training text that is most like it, if their Jaccard similarity is `least`
    or more.

    Exact: two sets that are so alike share one of the rarest tokens of each (Bayardo, Ma & Srikant 2007), so
    only those are looked up. Of equally similar training texts the first one is named.

    Args:
        evaluated: Tokens by id.
        trained: Ids with tokens, read once.
        least: Smallest similarity, above 0 and at most 1.

    Returns:
        By the id of an evaluated text, the id of its twin and their similarity.
    """
    count = Counter(token for some in evaluated.values() for token in some)

    def rarest(some: frozenset[str]) -> list[str]:
        kept = len(some) - ceil(least * len(some) - 1e-9) + 1
        return sorted(some, key=lambda token: (count[token], token))[:kept]

    index: dict[str, list[str]] = defaultdict(list)
    for name, some in evaluated.items():
        for token in rarest(some):
            index[token].append(name)
    found: dict[str, tuple[str, float]] = {}
    for theirs, some in trained:
        for ours in {name for token in rarest(some) for name in index.get(token, ())}:
            both = len(some & evaluated[ours])
            alike = both / (len(some) + len(evaluated[ours]) - both)
            if alike >= least and alike > found.get(ours, ("", 0.0))[1]:
                found[ours] = (theirs, alike)
    return found
