"""The LightningDataModule: it makes batches of encoded examples."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, Sampler

from figlang.training.accumulation import Uncut

# Sorting by length within windows of this many batches leaves a few per cent of padding, and keeps the order
# random.
WINDOW = 16
EVALUATED_AT_ONCE = 32
TOGETHER = 2  # items of a group that come together: a pair. More of them would make steps too alike.


class Example(Protocol):
    """An item (or more than one) in tokens: its sequences, and the length of the longest."""

    @property
    def sequences(self) -> Sequence[Any]: ...

    @property
    def longest(self) -> int: ...

    @property
    def tokens(self) -> int: ...


class LengthBuckets(Sampler[list[int]]):
    """Batches of items of similar length, in an order that depends only on seed and epoch.

    A batch has at most `batch_size` items and, if `max_tokens` is set, at most that many tokens, padding
    included. An item that is longer than this is a batch of its own. With `max_tokens`, the same batches come
    in every epoch in another order, so that the number of steps is known beforehand.

    Args:
        examples: The items.
        batch_size: See above.
        max_tokens: See above; None for no limit.
        seed: Seed of the order.
        groups: The group of each item; None if items have none. TOGETHER items of a group come together:
            they are in the same batch, unless it is full after the first of them.

    Attributes:
        done: How many batches at the beginning of the next epoch are left out, because an interrupted fit has
            already seen them.
        rank: Number of this process.
        world: Number of processes. Each gets its share of every batch, so a step sees the same items with any
            number of processes.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        batch_size: int,
        max_tokens: int | None,
        seed: int,
        groups: Sequence[str] | None = None,
    ) -> None:
        self.examples = examples
        self.groups = groups
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.seed = seed
        self.epoch = 0
        self.done = 0
        self.rank, self.world = 0, 1
        self._length = len(self.batches(0))
        self._sizes: list[int] = []

    @property
    def sampler(self) -> "LengthBuckets":
        """This object: Lightning calls `set_epoch` of a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch. Lightning calls this before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        batches = self.batches(0 if self.max_tokens else self.epoch)
        order = torch.randperm(len(batches), generator=self._generator(self.epoch, stream=1)).tolist()
        self._sizes = [len(batches[index]) for index in order]
        order, self.done = order[self.done :], 0
        return (self._share(batches[index]) for index in order)

    def repeats(self, index: int) -> bool:
        """Whether this process's share of a step repeats that of another process, and must not count."""
        return self.rank >= self._sizes[index]

    def _share(self, batch: list[int]) -> list[int]:
        # If a batch has fewer items than there are processes, some processes repeat an item, because every
        # process must step.
        return batch[self.rank :: self.world] or [batch[self.rank % len(batch)]]

    def batches(self, epoch: int) -> list[list[int]]:
        order = torch.randperm(len(self.examples), generator=self._generator(epoch, stream=0)).tolist()
        units = self._units(order)
        order = [index for unit in units for index in unit]
        # Items are sorted by the longest of their unit, and a unit stays together.
        key = {
            index: (max(self.examples[member].longest for member in unit), number)
            for number, unit in enumerate(units)
            for index in unit
        }
        window = self.batch_size * WINDOW
        batches = []
        for start in range(0, len(order), window):
            batches += self._cut(sorted(order[start : start + window], key=key.__getitem__))
        return batches

    def _units(self, order: list[int]) -> list[list[int]]:
        """Items that come together, each unit at the place of its first item."""
        if self.groups is None:
            return [[index] for index in order]
        units: list[list[int]] = []
        last: dict[str, list[int]] = {}  # the latest unit of each group
        for index in order:
            unit = last.get(self.groups[index])
            if unit is None or len(unit) == TOGETHER:
                unit = last[self.groups[index]] = []
                units.append(unit)
            unit.append(index)
        return units

    def _cut(self, ascending: list[int]) -> list[list[int]]:
        batches: list[list[int]] = []
        sequences = 0
        for index in ascending:
            example = self.examples[index]
            sequences += len(example.sequences)
            full = not batches or len(batches[-1]) == self.batch_size
            if full or (self.max_tokens is not None and sequences * example.longest > self.max_tokens):
                batches.append([])
                sequences = len(example.sequences)
            batches[-1].append(index)
        return batches

    def _generator(self, epoch: int, stream: int) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed * 1_000_003 + epoch) * 2 + stream)


class ChoiceData(LightningDataModule):
    """Batches of encoded examples for a fit. `selection`, if it is not empty, is a second validation set.

    `groups` has the group of each training example (see LengthBuckets). With `uncut`, a step cuts its
    training items into parts itself. So does every validation with its items.
    """

    def __init__(
        self,
        collate: Callable[[Sequence[Any]], Any],
        train: Sequence[Example],
        validation: Sequence[Example],
        selection: Sequence[Example],
        batch_size: int,
        max_tokens: int | None,
        seed: int,
        groups: Sequence[str] | None = None,
        uncut: bool = False,
    ) -> None:
        super().__init__()
        self.collate = collate
        self.uncut = uncut
        self.train = train
        self.evaluated = [
            sorted(examples, key=lambda example: example.longest)
            for examples in (validation, selection)
            if examples
        ]
        self.buckets = LengthBuckets(train, batch_size, max_tokens, seed, groups)

    def tokens(self) -> int:
        """Tokens that an epoch reads, without padding. With `groups`, a sequence of a batch counts once."""
        if self.buckets.groups is None:
            return sum(example.tokens for example in self.train)
        read = (
            {tuple(ids) for index in batch for ids in self.train[index].sequences}
            for batch in self.buckets.batches(0)
        )
        return sum(len(ids) for distinct in read for ids in distinct)

    def train_dataloader(self) -> DataLoader[Any]:
        if self.trainer is not None:
            # A resumed fit draws its first epoch before it calls set_epoch.
            self.buckets.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)
            batches = self.trainer.fit_loop.epoch_loop.batch_progress.current.processed
            self.buckets.done = batches if batches < len(self.buckets) else 0
            self.buckets.rank, self.buckets.world = self.trainer.global_rank, self.trainer.world_size
        # With a generator of its own, the loader does not draw from the random stream of dropout.
        return DataLoader(
            self.train,  # type: ignore[arg-type]
            batch_sampler=self.buckets,
            collate_fn=Uncut if self.uncut else self.collate,
            generator=torch.Generator().manual_seed(0),
        )

    def val_dataloader(self) -> list[DataLoader[Any]]:
        return [
            DataLoader(
                examples,  # type: ignore[arg-type]
                batch_size=EVALUATED_AT_ONCE,
                collate_fn=Uncut,  # a validation makes smaller batches if memory is not enough
                generator=torch.Generator().manual_seed(0),
            )
            for examples in self.evaluated
        ]
