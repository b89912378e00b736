"""Independent jobs at the same time, each with its share of the threads.

Small operations then wait less for each other.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import torch


def side_by_side(jobs: Sequence[Iterator[object]]) -> None:
    """Run jobs to their ends, each in a thread of its own with its share of torch's threads.

    A single job runs in the present thread. If a job fails or is interrupted, the others stop at their next
    step and the error is raised. Jobs have the inference mode of the caller, but not its autocast or any
    other mode of its thread.
    """
    if len(jobs) == 1:
        for _ in jobs[0]:
            pass
        return
    threads, inference = torch.get_num_threads(), torch.is_inference_mode_enabled()
    stopped = Event()

    def run(place: int, job: Iterator[object]) -> None:
        # This sets the number for this thread and for threads that start later. It is undone below.
        torch.set_num_threads(max(threads // len(jobs) + (place < threads % len(jobs)), 1))
        try:
            with torch.inference_mode(inference):
                for _ in job:
                    if stopped.is_set():
                        return
        except BaseException:
            stopped.set()
            raise

    try:
        with ThreadPoolExecutor(len(jobs)) as pool:
            try:
                for done in [pool.submit(run, place, job) for place, job in enumerate(jobs)]:
                    done.result()
            finally:
                stopped.set()
    finally:
        torch.set_num_threads(threads)
