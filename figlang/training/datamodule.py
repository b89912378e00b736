"""The one LightningDataModule: encoded examples to batches."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, Sampler

# Sorting by length within windows of this many batches leaves a few per cent of padding and keeps the order
# random.
WINDOW = 16
EVALUATED_AT_ONCE = 32


class Example(Protocol):
    """An item (or more of them) in tokens: how many sequences, and how long the longest is."""

    @property
    def sequences(self) -> Sequence[Any]: ...

    @property
    def longest(self) -> int: ...


class LengthBuckets(Sampler[list[int]]):
    """Batches of items of similar length, in an order that depends on seed and epoch alone.

    A batch has at most `batch_size` items and, if `max_tokens` is set, at most that many tokens, padding
    included (an item longer than the budget is a batch of its own). With a budget the same batches recur
    every epoch in another order, so that the number of steps is known beforehand.

    The first `done` batches of the epoch that is drawn next are left out: a fit that stopped within it has
    seen them. Of `world` processes, process `rank` gets its share of every batch: a step sees the same items
    on any number of them.
    """

    def __init__(
        self, examples: Sequence[Example], batch_size: int, max_tokens: int | None, seed: int
    ) -> None:
        self.examples = examples
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.seed = seed
        self.epoch = 0
        self.done = 0
        self.rank, self.world = 0, 1
        self._length = len(self._batches(0))
        self._sizes: list[int] = []

    @property
    def sampler(self) -> "LengthBuckets":
        """Where Lightning looks for `set_epoch`: not at a batch sampler, but at its sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches(0 if self.max_tokens else self.epoch)
        order = torch.randperm(len(batches), generator=self._generator(self.epoch, stream=1)).tolist()
        self._sizes = [len(batches[index]) for index in order]
        order, self.done = order[self.done :], 0
        return (self._share(batches[index]) for index in order)

    def repeats(self, index: int) -> bool:
        """Whether this process's share of a step of the current epoch is another one's too, and must not
        count."""
        return self.rank >= self._sizes[index]

    def _share(self, batch: list[int]) -> list[int]:
        # Where a batch has fewer items than there are processes, the rest repeat one: every process has to
        # step.
        return batch[self.rank :: self.world] or [batch[self.rank % len(batch)]]

    def _batches(self, epoch: int) -> list[list[int]]:
        order = torch.randperm(len(self.examples), generator=self._generator(epoch, stream=0)).tolist()
        window = self.batch_size * WINDOW
        batches = []
        for start in range(0, len(order), window):
            batches += self._cut(
                sorted(order[start : start + window], key=lambda index: self.examples[index].longest)
            )
        return batches

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
    """Batches of encoded examples for fit. `selection`, if there is any, is a second validation set."""

    def __init__(
        self,
        collate: Callable[[Sequence[Any]], Any],
        train: Sequence[Example],
        validation: Sequence[Example],
        selection: Sequence[Example],
        batch_size: int,
        max_tokens: int | None,
        seed: int,
    ) -> None:
        super().__init__()
        self.collate = collate
        self.train = train
        self.evaluated = [
            sorted(some, key=lambda example: example.longest) for some in (validation, selection) if some
        ]
        self.buckets = LengthBuckets(train, batch_size, max_tokens, seed)

    def train_dataloader(self) -> DataLoader[Any]:
        if self.trainer is not None:
            # A resumed fit draws its first epoch before it calls set_epoch.
            self.buckets.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)
            batches = self.trainer.fit_loop.epoch_loop.batch_progress.current.processed
            self.buckets.done = batches if batches < len(self.buckets) else 0
            self.buckets.rank, self.buckets.world = self.trainer.global_rank, self.trainer.world_size
        # A generator of its own keeps the loader from drawing on the stream that dropout draws on.
        return DataLoader(
            self.train,  # type: ignore[arg-type]
            batch_sampler=self.buckets,
            collate_fn=self.collate,
            generator=torch.Generator().manual_seed(0),
        )

    def val_dataloader(self) -> list[DataLoader[Any]]:
        return [
            DataLoader(
                some,  # type: ignore[arg-type]
                batch_size=EVALUATED_AT_ONCE,
                collate_fn=self.collate,
                generator=torch.Generator().manual_seed(0),
            )
            for some in self.evaluated
        ]
