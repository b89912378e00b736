"""`figlang train -m hydra/launcher=beside seed=0,1,2,3,4`: several runs of a multirun at a time.

Each run is a process with its share of the cores. What a run does on one thread only (reading data,
tokenising, evaluating in Python, drawing) is then done beside the work of another run, and small products
need no second thread.

Processes are forked when the libraries are imported, so that this is done once. Hydra loads this file at
every start and takes launchers from this package only.
"""

import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryFile
from typing import IO

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from figlang.config import multirun
from figlang.errors import FiglangError

log = logging.getLogger("figlang")
FAULT = 2  # the exit code of errors
PR_SET_PDEATHSIG = 1  # of Linux: the signal that a process gets when its parent is gone
# What takes seconds to import, by verb.
LIBRARIES = {
    "figlang_train": ("figlang.commands.train", "figlang.training.fitting"),
    "figlang_evaluate": ("figlang.commands.evaluate",),
}


@dataclass(frozen=True)
class Running:
    """A run at work: its place in the list, its process, files of what it prints (standard error and output),
    and the pipe of its result."""

    place: int
    process: BaseProcess
    said: tuple[IO[bytes], IO[bytes]]
    answer: Connection


class BesideLauncher(Launcher):  # type: ignore[misc]
    """Starts each run of a multirun in a process; conf/hydra/launcher/beside.yaml says what `at_once` is."""

    def __init__(self, at_once: int) -> None:
        if not isinstance(at_once, int) or at_once < 1:
            raise FiglangError(f"hydra.launcher.at_once={at_once} must be a number above 0")
        if sys.platform != "linux":
            raise FiglangError(
                "hydra/launcher=beside needs Linux; leave it out, and the runs come one after the other"
            )
        self.at_once = at_once
        self.fork = get_context("fork")
        self.single = BasicLauncher()

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.single.setup(hydra_context=hydra_context, task_function=task_function, config=config)
        self.libraries = LIBRARIES.get(str(config.hydra.job.config_name), ())

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
        """Run all jobs. What a run says is printed when it has ended.

        Raises:
            SystemExit: If a run failed. The others are finished first.
        """
        for name in self.libraries:
            import_module(name)
        jobs = [list(words) for words in job_overrides]
        results: dict[int, JobReturn] = {}
        failed: dict[int, int] = {}
        waiting, running = deque(range(len(jobs))), list[Running]()
        at_once = min(self.at_once, len(jobs))
        log.info("%d runs, %d at a time; each says its result when it has ended", len(jobs), at_once)
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    place = waiting.popleft()
                    running.append(self._start(place, jobs[place], initial_job_idx + place, at_once))
                wait([run.process.sentinel for run in running])
                for run in [run for run in running if not run.process.is_alive()]:
                    running.remove(run)
                    if code := _ended(run):
                        failed[run.place] = code
                    else:
                        results[run.place] = JobReturn(jobs[run.place], status=JobStatus.COMPLETED)
                        results[run.place].return_value = run.answer.recv()
        finally:
            # After Ctrl-C: each saves its state and ends.
            for run in running:
                run.process.terminate()
            for run in running:
                _ended(run)
        if failed:
            _refuse(jobs, failed, initial_job_idx)
        ordered = [results[place] for place in range(len(jobs))]
        multirun.made.extend(done.return_value for done in ordered if done.return_value)
        return ordered

    def _start(self, place: int, words: list[str], number: int, at_once: int) -> Running:
        said = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - read when the run has ended
        answer, send = self.fork.Pipe(duplex=False)
        process = self.fork.Process(target=self._run, args=(words, number, at_once, said, send))
        process.start()
        send.close()
        return Running(place, process, said, answer)

    def _run(
        self, words: list[str], number: int, at_once: int, said: Sequence[IO[bytes]], send: Connection
    ) -> None:
        """The run, in its own process."""
        os.setpgrp()  # Ctrl-C reaches the command alone, which ends each run once
        CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        for file, stream in zip(said, (sys.__stderr__, sys.__stdout__), strict=True):
            assert stream is not None
            os.dup2(file.fileno(), stream.fileno())
        import torch  # Hydra loads this file at every start

        share = len(os.sched_getaffinity(0)) // at_once
        torch.set_num_threads(max(1, min(torch.get_num_threads(), share)))
        folder = None
        try:
            (done,) = self.single.launch([words], number)
            folder = done.return_value
        finally:
            send.send(folder)


def _ended(run: Running) -> int:
    """Print what an ended run has said. Returns its exit code."""
    run.process.join()
    for file, stream in zip(run.said, (sys.stderr, sys.stdout), strict=True):
        file.seek(0)
        stream.write(file.read().decode(errors="replace"))
        stream.flush()
        file.close()
    return run.process.exitcode or 0


def _refuse(jobs: list[list[str]], failed: dict[int, int], first: int) -> None:
    """Say which runs failed, in one line, and end with the exit code of the first of them."""
    names = []
    for place, code in sorted(failed.items()):
        killed = f", killed by {signal.Signals(-code).name}" if code < 0 else ""
        names.append(f"#{first + place + 1} ({' '.join(map(multirun.typed, jobs[place]))}{killed})")
    sys.stderr.write(
        f"error: {len(failed)} of {len(jobs)} runs failed: {', '.join(names)}; the others are finished, and "
        "the same command goes on with these\n"
    )
    code = failed[min(failed)]
    raise SystemExit(code if code > 0 else FAULT)
