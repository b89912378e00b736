"""Cut texts into words by Unicode's rules (UAX 29), and measure how alike two texts are as sets of words."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import ceil

import regex

Words = tuple[str, ...]
_EDGE = regex.compile(r"(?V1)(?w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
# The same rules for texts of ASCII in lower case, in a third of the time. An apostrophe before a vowel begins
# a word if no letter is before it.
_ASCII = re.compile(
    r"(?:'(?=[aeiou]))?\w+(?:(?:(?<=[a-z])[:.'](?=[a-z])|(?<=[0-9])[,;.'](?=[0-9]))\w+)*", re.ASCII
)
# Scripts without spaces between words. Unicode's rules cut them into characters.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Laoo}\p{Khmr}\p{Mymr}\p{Tibt}\p{Java}\p{Bali}]"
)
CHARACTERS = 2  # in such a script, this many characters count as one word


# The two items of a pair follow each other and share their options.
@lru_cache(maxsize=8)
def words(text: str) -> Words:
    """The lower-case words of a text, without punctuation; single characters in scripts without spaces."""
    folded = text.casefold().replace("’", "'")
    if folded.isascii() and "_" not in folded:
        return tuple(_ASCII.findall(folded))
    return tuple(part for part in _EDGE.split(folded) if _WORD.search(part))


def per_word(segments: Words) -> int:
    """How many segments make a word: one, or CHARACTERS if most are of a script without spaces."""
    if "".join(segments).isascii():
        return 1
    return (
        CHARACTERS if 2 * sum(_UNSPACED.match(word) is not None for word in segments) > len(segments) else 1
    )


def tokens(text: str) -> frozenset[str]:
    """The set by which texts are compared.

    It holds words, or the pairs of neighbouring characters in scripts without spaces.
    """
    return token_set(words(text))


def token_set(segments: Words) -> frozenset[str]:
    """The set of `tokens`, from the words of a text."""
    size = per_word(segments)
    if size == 1:
        return frozenset(segments)
    return frozenset(" ".join(segments[start : start + size]) for start in range(len(segments) - size + 1))


class Twins:
    """For every evaluated text, the training text that is most like it.

    The measure is Jaccard similarity. The result is exact: two sets that are at least that similar share one
    of the rarest tokens of each (Bayardo, Ma & Srikant 2007), so only those are looked up. Of equally similar
    training texts, the first one counts.

    Attributes:
        found: By the id of an evaluated text, the id of its twin among the texts that were seen, and their
            similarity. Texts without a twin are left out.
    """

    def __init__(self, evaluated: Mapping[str, frozenset[str]], least: float) -> None:
        """Take the evaluated texts.

        Args:
            evaluated: Tokens by id.
            least: Smallest similarity, above 0 and at most 1.
        """
        self.found: dict[str, tuple[str, float]] = {}
        self._evaluated, self._least = evaluated, least
        self._count = Counter(token for text_tokens in evaluated.values() for token in text_tokens)
        self._known = frozenset(self._count)
        self._index: dict[str, list[str]] = defaultdict(list)
        for name, text_tokens in evaluated.items():
            for token in _rarest(text_tokens, _kept(text_tokens, least), self._count):
                self._index[token].append(name)

    def see(self, trained_id: str, text_tokens: frozenset[str]) -> None:
        """Compare one training text with all evaluated texts.

        Args:
            trained_id: Its id.
            text_tokens: Its tokens.
        """
        kept = _kept(text_tokens, self._least)
        # Tokens that no evaluated text has are the rarest. As a rule there are enough of them.
        if len(text_tokens - self._known) >= kept:
            return
        rarest = _rarest(text_tokens, kept, self._count)
        for evaluated_id in {name for token in rarest for name in self._index.get(token, ())}:
            alike = _jaccard(text_tokens, self._evaluated[evaluated_id])
            if alike >= self._least and alike > self.found.get(evaluated_id, ("", 0.0))[1]:
                self.found[evaluated_id] = (trained_id, alike)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _kept(text_tokens: frozenset[str], least: float) -> int:
    """How many of the rarest tokens of a text are looked up."""
    return len(text_tokens) - ceil(least * len(text_tokens) - 1e-9) + 1


def _rarest(text_tokens: frozenset[str], kept: int, count: Counter[str]) -> list[str]:
    return sorted(text_tokens, key=lambda token: (count[token], token))[:kept]


def links(
    texts: Mapping[str, frozenset[str]], groups: Mapping[str, str], least: float
) -> Iterator[tuple[str, str, float]]:
    """Pairs of texts of different groups that are alike, by the measure of `Twins` and as exactly.

    They are as many as join all chains of such texts, and no more: every two of many texts of one pattern
    would be too many. A text has a pair with an earlier one if it is like any.

    Args:
        texts: Tokens by id.
        groups: The group of each text, by id.
        least: Smallest similarity, above 0 and at most 1.

    Yields:
        The id of the earlier text, that of the later one, and their similarity.
    """
    count = Counter(token for text_tokens in texts.values() for token in text_tokens)
    chains = _Chains()
    for name, text_tokens in texts.items():
        rare = _rarest(text_tokens, _kept(text_tokens, least), count)
        found = []
        for chain in chains.of(rare):
            for other in chains.texts(chain, rare):
                if groups[other] != groups[name] and (alike := _jaccard(text_tokens, texts[other])) >= least:
                    yield other, name, alike
                    found.append(chain)
                    break
        chains.join(name, rare, found)


class _Chains:
    """Texts by chain, and those of a chain by their rare tokens."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, list[str]]] = {}  # the rare tokens of each text of a chain
        self._index: dict[str, dict[str, list[str]]] = defaultdict(dict)

    def of(self, rare: list[str]) -> list[str]:
        """The chains that have one of these tokens."""
        return list(dict.fromkeys(chain for token in rare for chain in self._index[token]))

    def texts(self, chain: str, rare: list[str]) -> Iterator[str]:
        """The texts of a chain that have one of these tokens, each once."""
        seen = set()
        for token in rare:
            for name in self._index[token].get(chain, ()):
                if name not in seen:
                    seen.add(name)
                    yield name

    def join(self, name: str, rare: list[str], found: list[str]) -> None:
        """Make one chain of a new text and these chains. The texts of smaller chains move to the largest."""
        chain = max(found, key=lambda each: len(self._texts[each]), default=name)
        new = {name: rare}
        for small in found:
            if small != chain:
                moved = self._texts.pop(small)
                for token in {token for tokens in moved.values() for token in tokens}:
                    self._index[token].setdefault(chain, []).extend(self._index[token].pop(small))
                new |= moved
        self._texts.setdefault(chain, {}).update(new)
        for token in rare:
            self._index[token].setdefault(chain, []).append(name)
