"""Many short rows in flat arrays. An object for each row would take half a kilobyte, whatever it holds."""

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar, overload

import torch
from torch import Tensor

T = TypeVar("T", covariant=True)


class Tokens(NamedTuple):
    """Token ids of context and continuation (and bos, if there is one).

    Those from `start` (>= 1) on are scored.
    """

    ids: list[int]
    start: int


class Rows(Sequence[T]):
    """Rows, each of which is made into an object only when it is asked for."""

    @abstractmethod
    def row(self, place: int) -> T:
        """Make the row at a place, which is 0 or more."""

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self.row(each) for each in range(*place.indices(len(self)))]
        return self.row(range(len(self))[place])

    def __iter__(self) -> Iterator[T]:
        return map(self.row, range(len(self)))


class Sequences(Rows[Tokens]):
    """Token sequences."""

    def __init__(self) -> None:
        self._ids = array("H")  # of 2 bytes, until an id needs 4
        self._ends = array("q", [0])
        self._starts = array("i")
        self._dropped = 0  # ids at the beginning that were forgotten

    def append(self, ids: Sequence[int], start: int) -> None:
        """Add a sequence, whose tokens from `start` on are scored."""
        if self._ids.typecode == "H" and max(ids, default=0) >= 2**16:
            self._ids = array("i", self._ids)
        self._ids.extend(ids)
        self._ends.append(len(self._ids))
        self._starts.append(start)

    def forget(self, count: int) -> None:
        """Drop the tokens of the first `count` sequences, which nobody asks for any more."""
        end = self._ends[count]
        del self._ids[: end - self._dropped]
        self._dropped = end

    def __len__(self) -> int:
        return len(self._starts)

    def row(self, place: int) -> Tokens:
        begin, end = (self._ends[bound] - self._dropped for bound in (place, place + 1))
        if begin < 0:
            raise IndexError(f"the tokens of sequence {place} were forgotten")
        return Tokens(self._ids[begin:end].tolist(), self._starts[place])


class Chosen(Rows[Tokens]):
    """Some of many sequences, which are not copied.

    Args:
        sequences: All of them.
        places: Which of them, in their order.
    """

    def __init__(self, sequences: Sequence[Tokens], places: Sequence[int]) -> None:
        self._sequences, self._places = sequences, places

    def __len__(self) -> int:
        return len(self._places)

    def row(self, place: int) -> Tokens:
        return self._sequences[self._places[place]]


class Slices(Rows[Tensor]):
    """Short tensors that stand one behind another in a long one.

    Args:
        values: The long tensor.
        ends: The end of each short one. Each begins where the one before it ends.

    Attributes:
        values: As given.
    """

    def __init__(self, values: Tensor, ends: Sequence[int]) -> None:
        self.values = values
        self._ends = array("q", [0])
        self._ends.extend(ends)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def row(self, place: int) -> Tensor:
        return self.values[self._ends[place] : self._ends[place + 1]]

    def fill(self, places: Sequence[int], indices: "Slices", values: Tensor) -> None:
        """Fill some short tensors with chosen values.

        Args:
            places: Which of them.
            indices: For each of these, the place of each of its values in `values`, as int32.
            values: What is chosen from.
        """
        if isinstance(places, range) and places.step == 1:  # they stand together
            target = self.values[self._ends[places.start] : self._ends[places.stop]]
            torch.index_select(values, 0, indices.values, out=target)
            return
        for place, chosen in zip(places, indices, strict=True):
            self[place].copy_(values[chosen])


def from_array(numbers: "array[int]") -> Tensor:
    """The numbers of an array of 4 bytes each as a tensor (int32), which shares its memory."""
    return torch.frombuffer(numbers, dtype=torch.int32) if numbers else torch.empty(0, dtype=torch.int32)
