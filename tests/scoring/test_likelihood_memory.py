"""Laws of memory: what an item costs, as the difference of two numbers of items.

tracemalloc counts Python's objects and arrays. It does not see the tensors of torch, nor what a tokenizer
holds, so the last tests count these.
"""

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from figlang.config import PromptConfig, ScoringConfig
from figlang.runs import recomputed
from figlang.runs.predictions import BLIND, FORWARD, write_predictions
from figlang.scoring.flat import Sequences, Tokens
from figlang.scoring.likelihood import Directions, choose
from figlang.scoring.requests import TOGETHER, Request, RequestEncoder, SpanFinder
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.trie import Trie, grow
from figlang.scoring.wording import Wording
from figlang.types import Item, Prediction
from tests.causal_models import network

FEW, MANY = 250, 1250


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


def test_an_item_that_is_scored_takes_two_kilobytes_and_keeps_little_more_than_one(
    scorer: CausalScorer,
) -> None:
    chosen(scorer, FEW)  # what is made once
    few, many = traced(scorer, FEW), traced(scorer, MANY)
    stays, peak = ((more - less) / (MANY - FEW) for less, more in zip(few, many, strict=True))
    assert stays < 1_200
    assert peak < 2_000


def test_an_item_whose_predictions_are_read_back_takes_less_than_two_kilobytes(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        rows = [Prediction.of(item, (0.25 + item.id.count("1"), 1.5)) for item in items(count)]
        for name in (FORWARD, BLIND):
            write_predictions(tmp_path / name, rows)
        del rows
        gc.collect()
        tracemalloc.start()
        try:
            recomputed.measured(tmp_path)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert an_item(peak) < 2_000


def test_a_node_of_a_trie_takes_few_bytes(scorer: CausalScorer) -> None:
    requests = (
        Request(f"the room {number} was an oven . ", f"it was hot {number}") for number in range(MANY)
    )
    trie = grow(scorer.encoder.encode(requests)[0])
    tensors = [getattr(trie, each.name) for each in fields(trie) if each.name != "spans"]
    assert sum(tensor.nbytes for tensor in tensors) <= 32 * len(trie.tokens)
    assert trie.spans.values.nbytes == 4 * len(trie.spans.values)


def test_one_trie_exists_at_a_time_and_tokens_that_were_read_are_dropped(
    scorer: CausalScorer, tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, made, alive, held = RequestEncoder.encode, [], [], []

    def spied(self: RequestEncoder, requests: Iterable[Request]) -> tuple[Sequences, int]:
        made.append(encode(self, requests))
        return made[-1]

    def growing(sequences: Sequence[Tokens]) -> Trie:
        gc.collect()
        assert not [reference for reference in alive if reference() is not None]
        held.append(sum(_is_held(made[-1][0], place) for place in range(len(made[-1][0]))))
        trie = grow(sequences)
        alive.append(weakref.ref(trie.spans))
        return trie

    asked = [Request(f"the room {number} was an oven . ", f"it was hot {number}") for number in range(60)]
    whole = torch.cat(list(scorer.score(asked).log_probs))
    monkeypatch.setattr(RequestEncoder, "encode", spied)
    monkeypatch.setattr("figlang.scoring.tree.causal.grow", growing)
    in_parts = CausalScorer(scorer.anatomy.network, tokenizer, part=90).score(asked)
    assert torch.allclose(torch.cat(list(in_parts.log_probs)), whole, atol=1e-5)
    assert len(held) > 5
    assert held[0] == len(asked)
    assert all(later < earlier for earlier, later in pairwise(held))
    assert not any(_is_held(made[-1][0], place) for place in range(len(asked)))


def test_freed_memory_is_given_back_again_and_again_while_a_trie_is_read(
    scorer: CausalScorer, tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[None] = []
    monkeypatch.setattr("figlang.scoring.tree.causal.give_back", lambda: given.append(None))
    monkeypatch.setattr("figlang.scoring.tree.causal.OFTEN", 50)
    asked = [Request(f"the room {number} was an oven . ", f"it was hot {number}") for number in range(60)]
    read = CausalScorer(scorer.anatomy.network, tokenizer, pack=10).score(asked).read
    assert read // 60 <= len(given) - 2 <= read // 50  # before the trie, and when it has grown


def _is_held(sequences: Sequences, place: int) -> bool:
    try:
        return bool(sequences[place].ids)
    except IndexError:
        return False


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
