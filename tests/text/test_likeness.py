"""Links join exactly the texts that the definition joins, and words those of Unicode's rules."""

import random
from collections.abc import Iterable
from itertools import combinations, product

import pytest
import regex

from figlang.text import likeness
from figlang.text.likeness import links, words


@pytest.mark.parametrize("least", [0.3, 0.6, 0.75, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_links_join_the_chains_of_the_definition(least: float, seed: int) -> None:
    dice = random.Random(seed)
    texts = {f"t{n}": frozenset(dice.choices("abcdefghij", k=dice.randint(1, 9))) for n in range(60)}
    groups = {name: f"g{dice.randrange(40)}" for name in texts}
    wanted = {
        (one, other): shared
        for one, other in combinations(texts, 2)
        if groups[one] != groups[other]
        and (shared := len(texts[one] & texts[other]) / len(texts[one] | texts[other])) >= least
    }
    found = list(links(texts, groups, least))
    assert all(wanted[one, other] == similarity for one, other, similarity in found)
    assert {other for _, other, _ in found} == {other for _, other in wanted}
    chains = joined(texts, wanted)
    assert joined(texts, [pair[:2] for pair in found]) == chains
    assert len(found) == len(texts) - len(chains)


def joined(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> set[frozenset[str]]:
    chains = {name: frozenset({name}) for name in names}
    for one, other in pairs:
        both = chains[one] | chains[other]
        chains |= dict.fromkeys(both, both)
    return set(chains.values())


def test_texts_of_one_pattern_are_compared_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every two of them would be 19,900 comparisons and as many pairs."""
    compared = []
    measure = likeness._jaccard

    def counting(one: frozenset[str], other: frozenset[str]) -> float:
        compared.append((one, other))
        return measure(one, other)

    monkeypatch.setattr(likeness, "_jaccard", counting)
    texts = {f"t{n}": frozenset((*"abcdefghij", f"x{n}")) for n in range(200)}
    assert len(list(links(texts, {name: name for name in texts}, 0.75))) == 199
    assert len(compared) == 199


def by_unicode(text: str) -> tuple[str, ...]:
    parts = regex.split(r"(?V1)(?w)\b", text.casefold())
    return tuple(part for part in parts if regex.search(r"[\p{L}\p{N}]", part))


def test_words_of_ascii_are_those_of_unicodes_rules() -> None:
    texts = ["".join(letters) for size in range(1, 4) for letters in product("ab1_ .,:;'\"-\n", repeat=size)]
    texts += [
        f"x{one}{between}{other}e" for one in map(chr, range(128)) for between in ".':1 " for other in "ab1'"
    ]
    dice = random.Random(0)
    texts += ["".join(dice.choices("AaehXz019_  .,:;''\"-\t\r\n/@#%", k=14)) for _ in range(5000)]
    assert [words(text) for text in texts] == [by_unicode(text) for text in texts]
