"""Texts that a step reads once: the same losses and gradients in fewer tokens, and pairs in one step."""

import copy

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import MethodConfig, ModelConfig
from figlang.models import networks
from figlang.scoring.encode import Batch, Encoder
from figlang.scoring.head import scorer
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.datamodule import ChoiceData, LengthBuckets
from figlang.types import Item

ANSWERS = ("It was hot.", "It was cold and rather dark in every corner.")
PAIR = [
    Item("a", "a", "The room was an oven", ANSWERS, 0),
    Item("b", "a", "The room was a fridge.", ANSWERS, 1),
]
OTHER = Item("c", "c", "It was hot.", ("The sun shone.", "It was cold and rather dark in every corner."), 0)


@pytest.fixture(scope="module")
def built() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    torch.manual_seed(0)
    texts = [text for item in (*PAIR, OTHER) for text in (item.context, *item.options)]
    network, tokenizer = networks.build(ModelConfig(init="tiny"), "dual", texts, 2)
    return network.double().eval(), tokenizer


def encoded(tokenizer: PreTrainedTokenizerBase, format: str, shares: bool, items: list[Item]) -> Batch:
    encoder = Encoder(tokenizer, format, "clean", 80, shares=shares)
    return encoder.collate(encoder.encode(items)[0])


def learnt(network: PreTrainedModel, batch: Batch) -> tuple[Tensor, list[Tensor | None]]:
    """The loss of a batch, and the gradient of each weight."""
    network = copy.deepcopy(network)
    method = MethodConfig(format="dual")
    loss = CrossEntropyModule(network, method, scorer("dual", 20.0), steps=1, seed=0).loss(batch)["loss"]
    loss.backward()
    return loss.detach(), [parameter.grad for parameter in network.parameters()]


def test_a_pair_is_four_texts_and_a_text_that_recurs_elsewhere_is_one(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase],
) -> None:
    _, tokenizer = built
    rows = [
        len(encoded(tokenizer, "dual", shares, items).inputs["input_ids"])
        for items in (PAIR, [*PAIR, OTHER])
        for shares in (False, True)
    ]
    assert rows == [6, 4, 9, 5]


def test_without_dropout_losses_and_gradients_are_those_of_texts_read_for_each_item(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase],
) -> None:
    network, tokenizer = built
    items = [*PAIR, OTHER]
    loss, gradients = learnt(network, encoded(tokenizer, "dual", True, items))
    expected, ones = learnt(network, encoded(tokenizer, "dual", False, items))
    # Scores are made in float32, so sums round in another order there.
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    for gradient, one in zip(gradients, ones, strict=True):
        assert (gradient is None) == (one is None)
        if gradient is not None and one is not None:
            torch.testing.assert_close(gradient, one, rtol=1e-4, atol=1e-5 * float(one.abs().max()) + 1e-7)


@pytest.mark.parametrize("shares", [True, False])
def test_an_item_that_is_one_sequence_is_never_shared(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase], shares: bool
) -> None:
    _, tokenizer = built
    batch = encoded(tokenizer, "joint", shares, [PAIR[0], PAIR[0]])
    assert len(batch.inputs["input_ids"]) == len(batch.option_rows) == 2


@pytest.mark.parametrize("batch_size", [2, 8, 5])
@pytest.mark.parametrize("max_tokens", [None, 400])
def test_pairs_come_in_the_same_step_and_every_item_once(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase], batch_size: int, max_tokens: int | None
) -> None:
    _, tokenizer = built
    items = [
        Item(f"{pair}{member}", f"{pair}", " ".join(["oven"] * (1 + pair % 7 + member)), ANSWERS, member)
        for pair in range(60)
        for member in range(2)
    ]
    examples = Encoder(tokenizer, "dual", "clean", 80).encode(items)[0]
    buckets = LengthBuckets(examples, batch_size, max_tokens, 0, [item.group for item in items])
    for epoch in range(3):
        buckets.set_epoch(epoch)
        batches = list(buckets)
        assert len(batches) == len(buckets)
        assert sorted(index for batch in batches for index in batch) == list(range(len(items)))
        step = {index: number for number, batch in enumerate(batches) for index in batch}
        together = sum(step[2 * pair] == step[2 * pair + 1] for pair in range(60))
        if batch_size % 2 == 0 and max_tokens is None:
            assert together == 60
        assert together > 60 / 2  # shuffled one by one, a tenth at the most


def test_a_large_group_is_spread_over_the_steps(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase],
) -> None:
    _, tokenizer = built
    items = [
        Item(str(number), "same" if number < 32 else str(number), "oven", ANSWERS, 0) for number in range(256)
    ]
    examples = Encoder(tokenizer, "dual", "clean", 80).encode(items)[0]
    buckets = LengthBuckets(examples, 16, None, 0, [item.group for item in items])
    assert max(sum(index < 32 for index in batch) for batch in buckets) < 16


def test_tokens_that_an_epoch_reads_count_a_shared_text_once(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase],
) -> None:
    _, tokenizer = built
    encoder = Encoder(tokenizer, "dual", "clean", 80)
    examples = encoder.encode(PAIR)[0]

    def tokens(groups: list[str] | None) -> int:
        return ChoiceData(encoder.collate, examples, [], [], 2, None, 0, groups).tokens()

    assert tokens(None) == sum(example.tokens for example in examples)
    assert tokens(["a", "a"]) == int(encoder.collate(examples).inputs["attention_mask"].sum())
    assert tokens(["a", "a"]) < tokens(None)
