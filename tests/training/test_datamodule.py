"""Batches for training: every item once in an epoch, in an order that only seed and epoch determine."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from torch import Tensor

from figlang.scoring.encode import Encoded
from figlang.training.accumulation import Uncut
from figlang.training.datamodule import WINDOW, ChoiceData, LengthBuckets


def examples(lengths: Sequence[int], options: int = 2) -> list[Encoded]:
    """Items of `options` sequences each, the longest of the given length."""
    return [
        Encoded(
            place,
            0,
            tuple([0] * (length if option == 0 else max(1, length - 2)) for option in range(options)),
            None,
            (),
            None,
        )
        for place, length in enumerate(lengths)
    ]


def many(count: int = 203) -> list[Encoded]:
    return examples(np.random.default_rng(0).integers(5, 60, count).tolist())


def epoch(buckets: LengthBuckets, number: int = 0) -> list[list[int]]:
    buckets.set_epoch(number)
    return list(buckets)


def padded(items: Sequence[Encoded], batch: Sequence[int]) -> int:
    return sum(len(items[index].sequences) for index in batch) * max(items[index].longest for index in batch)


SIZES = [(1, None), (8, None), (500, None), (8, 200), (8, 10_000), (64, 300)]


@pytest.mark.parametrize(("batch_size", "max_tokens"), SIZES)
@pytest.mark.parametrize("number", [0, 1, 7])
def test_every_item_is_in_one_batch_of_an_epoch(batch_size: int, max_tokens: int | None, number: int) -> None:
    batches = epoch(LengthBuckets(many(), batch_size, max_tokens, seed=0), number)
    assert sorted(index for batch in batches for index in batch) == list(range(203))


def test_a_pair_is_in_one_batch_and_a_larger_group_is_in_several() -> None:
    pairs = [f"g{place // 2}" for place in range(200)]
    for batch in epoch(LengthBuckets(many(200), 8, None, seed=0, groups=pairs)):
        assert sorted(place ^ 1 for place in batch) == sorted(batch)
    eights = [f"g{place // 8}" for place in range(64)]
    mixed = epoch(LengthBuckets(examples([9] * 64), 8, None, seed=0, groups=eights))
    assert min(len({eights[place] for place in batch}) for batch in mixed) > 1


@pytest.mark.parametrize(("batch_size", "max_tokens"), SIZES)
def test_no_batch_has_more_items_than_the_batch_size(batch_size: int, max_tokens: int | None) -> None:
    sizes = [len(batch) for batch in epoch(LengthBuckets(many(), batch_size, max_tokens, seed=0))]
    assert min(sizes) >= 1
    assert max(sizes) <= batch_size


@pytest.mark.parametrize("batch_size", [1, 8, 500])
def test_without_a_budget_all_batches_but_one_are_full(batch_size: int) -> None:
    sizes = sorted(len(batch) for batch in epoch(LengthBuckets(many(), batch_size, None, seed=0)))
    assert all(size == batch_size for size in sizes[1:])


@pytest.mark.parametrize("max_tokens", [150, 300, 1000])
@pytest.mark.parametrize("options", [2, 4])
def test_no_batch_has_more_padded_tokens_than_the_budget(max_tokens: int, options: int) -> None:
    # One item has at most 4 · 34 = 136 tokens.
    items = examples(np.random.default_rng(1).integers(5, 35, 203).tolist(), options)
    batches = epoch(LengthBuckets(items, 64, max_tokens, seed=0))
    assert max(padded(items, batch) for batch in batches) <= max_tokens


def test_an_item_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    items = examples([10, 200, 10, 200])
    batches = epoch(LengthBuckets(items, 8, 100, seed=0))
    assert sorted(map(sorted, batches)) == [[0, 2], [1], [3]]


def test_a_budget_that_is_wide_enough_changes_no_number_of_batches() -> None:
    # ⌈203 / 8⌉
    assert len(LengthBuckets(many(), 8, 10**9, seed=0)) == len(LengthBuckets(many(), 8, None, seed=0)) == 26


@pytest.mark.parametrize(("batch_size", "max_tokens"), SIZES)
def test_the_number_of_batches_is_known_beforehand(batch_size: int, max_tokens: int | None) -> None:
    buckets = LengthBuckets(many(), batch_size, max_tokens, seed=0)
    assert {len(epoch(buckets, number)) for number in range(10)} == {len(buckets)}


@pytest.mark.parametrize("max_tokens", [None, 200])
class TestOrder:
    def test_the_order_depends_on_seed_and_epoch_alone(self, max_tokens: int | None) -> None:
        torch.manual_seed(1)
        first = epoch(LengthBuckets(many(), 8, max_tokens, seed=3), 5)
        torch.manual_seed(2)
        later = LengthBuckets(many(), 8, max_tokens, seed=3)
        for number in range(5):
            epoch(later, number)
        assert epoch(later, 5) == first

    def test_it_draws_nothing_from_the_global_stream(self, max_tokens: int | None) -> None:
        torch.manual_seed(1)
        before = torch.get_rng_state()
        epoch(LengthBuckets(many(), 8, max_tokens, seed=0))
        assert torch.equal(torch.get_rng_state(), before)

    def test_every_epoch_has_an_order_of_its_own(self, max_tokens: int | None) -> None:
        buckets = LengthBuckets(many(), 8, max_tokens, seed=0)
        assert len({str(epoch(buckets, number)) for number in range(8)}) == 8

    def test_every_seed_has_an_order_of_its_own(self, max_tokens: int | None) -> None:
        assert len({str(epoch(LengthBuckets(many(), 8, max_tokens, seed=seed))) for seed in range(8)}) == 8

    def test_batches_do_not_come_sorted_by_length(self, max_tokens: int | None) -> None:
        items = many()
        longest = [
            max(items[index].longest for index in batch)
            for batch in epoch(LengthBuckets(items, 8, max_tokens, seed=0))
        ]
        assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.5


def test_batches_of_similar_length_need_less_padding_than_random_ones() -> None:
    items = many(8 * WINDOW * 4)
    order = np.random.default_rng(0).permutation(len(items)).tolist()
    real = sum(example.tokens for example in items)
    bucketed = sum(padded(items, batch) for batch in epoch(LengthBuckets(items, 8, None, seed=0)))
    random = sum(padded(items, order[start : start + 8]) for start in range(0, len(order), 8))
    assert bucketed - real < (random - real) / 3


def test_every_item_counts_in_one_process() -> None:
    # 203 items by 8: the last batch has 3, fewer than the processes.
    world = [LengthBuckets(many(), 8, None, seed=0) for _ in range(5)]
    for rank, buckets in enumerate(world):
        buckets.rank, buckets.world = rank, len(world)
    shares = [epoch(buckets) for buckets in world]
    counted = [
        index
        for buckets, share in zip(world, shares, strict=True)
        for step, some in enumerate(share)
        if not buckets.repeats(step)
        for index in some
    ]
    assert sorted(counted) == list(range(203))
    assert sum(len(some) for share in shares for some in share) == 205


# In the hands of Lightning


class Positions:
    """An encoder whose batch is the positions of its items."""

    def collate(self, batch: Sequence[Encoded]) -> Tensor:
        return torch.tensor([example.position for example in batch])


class Recorder(LightningModule):
    """Writes down which items each epoch saw."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen: dict[int, list[list[int]]] = {}
        self.validated: list[int] = []

    def training_step(self, batch: Tensor, _: int) -> Tensor:
        self.seen.setdefault(self.current_epoch, []).append(batch.tolist())
        return self.weight.sum()

    def validation_step(self, batch: Uncut, _: int) -> None:
        self.validated += [example.position for example in batch.examples]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(epochs: int, folder: Path, resume: Path | None = None) -> Recorder:
    """Fit with a trainer like figlang's, as far as data is concerned."""
    module = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice about workers and processes
        trainer = Trainer(
            accelerator="cpu",
            max_epochs=epochs,
            logger=False,
            callbacks=[
                ModelCheckpoint(folder, "last", save_on_train_epoch_end=True, enable_version_counter=False)
            ],
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
        )
        data = ChoiceData(Positions().collate, many(50), many(30), (), batch_size=8, max_tokens=None, seed=0)
        trainer.fit(module, data, ckpt_path=resume, weights_only=True)
    return module


def test_the_trainer_gets_the_batches_of_its_epoch(tmp_path: Path) -> None:
    buckets = LengthBuckets(many(50), 8, None, seed=0)
    assert fit(3, tmp_path).seen == {number: epoch(buckets, number) for number in range(3)}


def test_a_resumed_trainer_gets_the_batches_of_the_epochs_that_are_left(tmp_path: Path) -> None:
    fit(1, tmp_path)
    buckets = LengthBuckets(many(50), 8, None, seed=0)
    assert fit(3, tmp_path, tmp_path / "last.ckpt").seen == {
        number: epoch(buckets, number) for number in (1, 2)
    }


def test_validation_sees_every_item_in_every_epoch(tmp_path: Path) -> None:
    assert sorted(fit(2, tmp_path).validated) == sorted([*range(30)] * 2)
