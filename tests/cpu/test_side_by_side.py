"""Laws of parallel jobs: all run to their ends with their share of threads, and an error stops the others."""

import threading
from collections.abc import Iterator

import pytest
import torch

from figlang.cpu.side_by_side import side_by_side


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_jobs_run_at_the_same_time_each_with_its_share_of_the_threads() -> None:
    seen = []
    together = threading.Barrier(2, timeout=60)

    def job(name: str) -> Iterator[None]:
        for _ in range(3):
            together.wait()  # for ever, if they ran one after the other
            seen.append((name, torch.get_num_threads(), torch.is_inference_mode_enabled()))
            yield

    with torch.inference_mode():
        side_by_side([job("one"), job("other")])
    assert sorted(seen) == [("one", 2, True)] * 3 + [("other", 2, True)] * 3
    assert torch.get_num_threads() == 4
    side_by_side([job_of(seen)])
    assert seen[-1] == ("alone", 4, False)


def job_of(seen: list[tuple[str, int, bool]]) -> Iterator[None]:
    yield seen.append(("alone", torch.get_num_threads(), torch.is_inference_mode_enabled()))


def test_threads_that_cannot_be_shared_out_evenly_are_all_used() -> None:
    torch.set_num_threads(5)
    seen: list[tuple[str, int, bool]] = []
    side_by_side([job_of(seen), job_of(seen)])
    assert sorted(threads for _, threads, _ in seen) == [2, 3]
    assert torch.get_num_threads() == 5


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_first_error_stops_the_others_and_is_raised(place: int, error: type[BaseException]) -> None:
    steps = []

    def endless() -> Iterator[None]:
        while True:
            yield steps.append(1)

    def failing() -> Iterator[None]:
        yield
        raise error("as asked")

    before = threading.active_count()
    jobs = [endless()]
    jobs.insert(place, failing())
    with pytest.raises(error, match="as asked"):
        side_by_side(jobs)
    assert torch.get_num_threads() == 4
    assert threading.active_count() == before
