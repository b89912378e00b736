"""Batches become smaller when memory is not enough, and only then."""

import logging

import pytest
import torch

from figlang.machine.shrinking import Shrinking


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), MemoryError()]
)
def test_a_size_is_halved_until_it_fits_and_stays_so(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[int] = []
    sizes = Shrinking(64, 4, "items are read")

    def run(size: int) -> str:
        tried.append(size)
        if size > 20:
            raise error
        return "done"

    with caplog.at_level(logging.WARNING, logger="figlang"):
        assert [sizes(run), sizes(run)] == ["done", "done"]
    assert tried == [64, 32, 16, 16]
    assert [record.getMessage() for record in caplog.records] == [
        f"memory is not enough; from now on at most {size} items are read together" for size in (32, 16)
    ]


@pytest.mark.parametrize(
    ("error", "tried"), [(torch.OutOfMemoryError("out of memory"), [9, 4, 3]), (RuntimeError("wrong"), [9])]
)
def test_the_least_size_and_other_errors_are_not_tried_again(error: Exception, tried: list[int]) -> None:
    sizes, asked = Shrinking(9, 3, "items are read"), []

    def run(size: int) -> None:
        asked.append(size)
        raise error

    with pytest.raises(type(error)):
        sizes(run)
    assert asked == tried
