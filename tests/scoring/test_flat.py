"""Laws of flat arrays: rows are what was put in, whatever was dropped before them."""

import pytest
import torch

from figlang.scoring.flat import Sequences, Slices

ROWS = [([1, 2, 3], 1), ([4], 1), ([5, 6], 1), ([7, 8, 9, 10], 2)]


def sequences() -> Sequences:
    made = Sequences()
    for ids, start in ROWS:
        made.append(ids, start)
    return made


@pytest.mark.parametrize("steps", [[0], [1], [1, 3], [4], [2, 2, 4]])
def test_sequences_that_were_not_forgotten_are_as_before(steps: list[int]) -> None:
    kept = sequences()
    for count in steps:
        kept.forget(count)
    assert len(kept) == len(ROWS)
    assert [tuple(row) for row in kept[steps[-1] :]] == ROWS[steps[-1] :]
    for place in range(steps[-1]):
        with pytest.raises(IndexError, match=f"sequence {place} were forgotten"):
            kept[place]


def test_ids_of_a_large_vocabulary_are_kept_beside_small_ones() -> None:
    rows = [([1, 2**16 - 1], 1), ([2**16, 3], 1), ([2**31 - 1, 0], 1)]
    made = Sequences()
    for ids, start in rows:
        made.append(ids, start)
    assert [tuple(row) for row in made] == rows


def test_rows_that_stand_together_and_rows_that_do_not_are_filled_alike() -> None:
    ends, values = [2, 3, 3, 6], torch.randn(9)
    indices = Slices(torch.tensor([8, 0, 3, 4, 4, 1], dtype=torch.int32), ends)
    found = []
    for places in (range(4), [0, 1, 2, 3]):
        room = Slices(torch.full((6,), torch.nan), ends)
        room.fill(places, indices, values)
        found.append(room.values)
    assert torch.equal(found[0], values[[8, 0, 3, 4, 4, 1]])
    assert torch.equal(*found)


def test_only_the_rows_that_are_named_are_filled() -> None:
    room = Slices(torch.zeros(6), [2, 3, 6])
    room.fill(range(1, 2), Slices(torch.tensor([1], dtype=torch.int32), [1]), torch.tensor([5.0, 7.0]))
    assert room.values.tolist() == [0, 0, 7, 0, 0, 0]
