"""Many short rows in flat arrays. An object for each row would take half a kilobyte, whatever it holds."""

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import torch
from torch import Tensor


class Tokens(NamedTuple):
    """Token ids of context and continuation (and bos, if there is one).

    Those from `start` (>= 1) on are scored.
    """

    ids: list[int]
    start: int


class Sequences(Sequence[Tokens]):
    """Token sequences. Each is made into objects only when it is asked for."""

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

    @overload
    def __getitem__(self, place: int) -> Tokens: ...
    @overload
    def __getitem__(self, place: slice) -> list[Tokens]: ...
    def __getitem__(self, place: int | slice) -> Tokens | list[Tokens]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        each = range(len(self))[place]
        begin, end = (self._ends[bound] - self._dropped for bound in (each, each + 1))
        if begin < 0:
            raise IndexError(f"the tokens of sequence {each} were forgotten")
        return Tokens(self._ids[begin:end].tolist(), self._starts[each])

    def __iter__(self) -> Iterator[Tokens]:
        return (self[place] for place in range(len(self)))


class Chosen(Sequence[Tokens]):
    """Some of many sequences, which are not copied.

    Args:
        sequences: All of them.
        places: Which of them, in their order.
    """

    def __init__(self, sequences: Sequence[Tokens], places: Sequence[int]) -> None:
        self._sequences, self._places = sequences, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Tokens: ...
    @overload
    def __getitem__(self, place: slice) -> list[Tokens]: ...
    def __getitem__(self, place: int | slice) -> Tokens | list[Tokens]:
        if isinstance(place, slice):
            return [self._sequences[each] for each in self._places[place]]
        return self._sequences[self._places[place]]


class Slices(Sequence[Tensor]):
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

    @overload
    def __getitem__(self, place: int) -> Tensor: ...
    @overload
    def __getitem__(self, place: slice) -> list[Tensor]: ...
    def __getitem__(self, place: int | slice) -> Tensor | list[Tensor]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        each = range(len(self))[place]
        return self.values[self._ends[each] : self._ends[each + 1]]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[place] for place in range(len(self)))

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
