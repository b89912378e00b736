"""Other work beside a benchmark."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that compute without end, each in a session of its own."""
    loop = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(loop, start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
