"""The yardstick of the probes: a network's own rounding, and what is more than that."""

import copy

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from figlang.scoring.tree.rounding import EXACT, FAR, MOST, Reference, reference
from tests.causal_models import TREE, network

IDS = torch.arange(20)[None] * 7


def logits(plain: PreTrainedModel, ids: Tensor = IDS) -> Tensor:
    with torch.no_grad():
        return plain(ids).logits[0]  # type: ignore[no-any-return]


def test_in_float32_no_place_may_be_far_off() -> None:
    plain = network("llama")
    expected = reference(plain, lambda: logits(plain))
    found = logits(plain)
    assert expected.differs(found) is None
    assert expected.differs(found + 7) is None  # the same distribution
    assert expected.differs(found * (1 + 1e-5)) is None
    found[3] = found[4]
    assert str(expected.differs(found)).startswith("log-probabilities differ by ")
    assert expected.at(torch.tensor([0, 1, 2])).differs(found[:3]) is None
    assert expected.at(torch.tensor([2, 3])).differs(found[2:4])


def test_in_float32_few_places_may_be_near_ties() -> None:
    """The released smollm2-multitask has one of 21 places whose rounding moves it by more than `EXACT`."""
    log_probs = torch.randn(20, 50).mul(3).log_softmax(-1)
    expected = Reference(log_probs, torch.full((20,), EXACT), exact=True)

    def off(by: float, places: int) -> Tensor:
        found = log_probs.clone()
        found[:places, 0] += by
        return found

    few = int((1 - MOST) * 20)
    assert expected.differs(off(3 * EXACT, few)) is None
    assert expected.differs(off(3 * EXACT, few + 1))
    assert expected.differs(off(2 * FAR * EXACT, 1))


@pytest.mark.parametrize("family", ["gpt2", "llama", "gpt_neox", "qwen2", "cohere"])
def test_in_bf16_other_roundings_agree_and_another_context_does_not(family: str) -> None:
    half = network(family, **TREE[family]).to(torch.bfloat16)
    expected = reference(half, lambda: logits(half))
    assert expected.differs(logits(copy.deepcopy(half).float())) is None
    other = IDS.clone()
    other[0, 0] += 1  # which every later place reads
    assert expected.differs(logits(half, other))
    found = logits(half)
    few = int((1 - MOST) * len(found))
    found[:few] = 0
    assert expected.differs(found) is None  # as near ties in few places would
    found[few] = 0
    assert expected.differs(found)


def test_the_network_is_left_as_it_was() -> None:
    half = network("llama").to(torch.bfloat16)
    before = logits(half)
    seen: list[Tensor] = []

    def failing() -> Tensor:
        seen.append(logits(half))
        if len(seen) == 2:
            raise RuntimeError("out of memory")
        return seen[-1]

    with pytest.raises(RuntimeError, match="out of memory"):
        reference(half, failing)
    assert torch.equal(seen[0], before)
    assert not torch.equal(seen[1], before)
    assert torch.equal(logits(half), before)
