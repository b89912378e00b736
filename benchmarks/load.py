"""Other work beside a benchmark."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Run a number of processes that compute all the time, each in a session of its own.

    They end with the block, and also when the process that started them is killed.
    """
    loop = [sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10**6))"]
    started = [subprocess.Popen(loop, start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
