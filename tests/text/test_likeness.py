"""Neighbours are exactly the pairs of texts that the definition gives, and words those of Unicode's rules."""

import random
from itertools import combinations, product

import pytest
import regex

from figlang.text.likeness import neighbours, words


@pytest.mark.parametrize("least", [0.3, 0.6, 0.75, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_are_those_of_the_definition(least: float, seed: int) -> None:
    dice = random.Random(seed)
    texts = {f"t{n}": frozenset(dice.choices("abcdefghij", k=dice.randint(1, 9))) for n in range(60)}
    wanted = {
        (one, other)
        for one, other in combinations(texts, 2)
        if len(texts[one] & texts[other]) / len(texts[one] | texts[other]) >= least
    }
    found = list(neighbours(texts, least))
    assert {(one, other) for one, other, _ in found} == wanted
    assert len(found) == len(wanted)


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
