"""Neighbours are exactly the pairs of texts that the definition gives."""

import random
from itertools import combinations

import pytest

from figlang.text.likeness import neighbours


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
