"""Laws of memory: what an item costs, as the difference of two numbers of items.

tracemalloc counts Python's objects and arrays. It does not see the tensors of torch, nor what a tokenizer
holds, so the last tests count these.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from figlang.config import PromptConfig, ScoringConfig
from figlang.scoring.likelihood import Directions, choose
from figlang.scoring.requests import TOGETHER, Request, SpanFinder
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording
from figlang.types import Item
from tests.causal_models import network

FEW, MANY = 200, 1200


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = ["<unk>", "the", "room", "was", "an", "oven", "it", "hot", "cold", "in", *"abcdef.0123456789"]
    built = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "<unk>"))
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=built, bos_token="<unk>")


@pytest.fixture(scope="module")
def scorer(tokenizer: PreTrainedTokenizerFast) -> CausalScorer:
    return CausalScorer(network("gpt2", vocabulary=40), tokenizer)


def items(count: int) -> list[Item]:
    """Items of one sentence with two answers. No string is that of two items."""
    return [
        Item(
            f"item-{number}",
            f"group-{number}",
            f"the room {number} was an oven of some kind",
            (f"it was hot in {number} rooms", f"it was cold in {number} rooms"),
            number % 2,
        )
        for number in range(count)
    ]


def chosen(scorer: CausalScorer, count: int) -> Directions:
    return choose(scorer, items(count), Wording(ScoringConfig(), PromptConfig()))


def an_item(measured: Callable[[int], int]) -> float:
    """Bytes (or objects) that an item more takes."""
    measured(FEW)  # what is made once
    few, many = measured(FEW), measured(MANY)
    return (many - few) / (MANY - FEW)


def traced(scorer: CausalScorer, count: int) -> tuple[int, int]:
    """Bytes that stay when all is scored, and the most at a time."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = chosen(scorer, count)
        gc.collect()
        stays, peak = tracemalloc.get_traced_memory()
        assert len(kept.measured) == count
        return stays, peak
    finally:
        tracemalloc.stop()


def test_an_item_that_was_scored_keeps_little_more_than_a_kilobyte(scorer: CausalScorer) -> None:
    assert an_item(lambda count: traced(scorer, count)[0]) < 1_200


def test_an_item_that_is_scored_takes_less_than_three_kilobytes(scorer: CausalScorer) -> None:
    assert an_item(lambda count: traced(scorer, count)[1]) < 3_000


def test_no_tensor_is_kept_for_an_item(scorer: CausalScorer) -> None:
    scored = scorer.score(
        Request(f"the room {number} was an oven . ", f"it was hot {number}") for number in range(MANY)
    )
    gc.collect()
    alive = sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())
    values = list(scored.log_probs)
    gc.collect()
    assert sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects()) == alive + len(values)


def test_texts_are_tokenised_in_parts(tokenizer: PreTrainedTokenizerFast) -> None:
    taken = 0

    def requests() -> Iterator[Request]:
        nonlocal taken
        for number in range(4 * TOGETHER):
            taken += 1
            yield Request(f"the room {number} ", "was an oven")

    for place, (request, encoding, first) in enumerate(SpanFinder(tokenizer).find(requests())):
        assert taken - place <= TOGETHER
        assert request.context == f"the room {place} "
        assert len(encoding.ids) - first == 3
    assert taken == 4 * TOGETHER
