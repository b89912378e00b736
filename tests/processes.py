"""Processes that run a command as torchrun would start them, forked from one that has imported everything:
imports take seconds."""

import multiprocessing
import os
import signal
import socket
import sys
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor

from figlang.training.cross_entropy import CrossEntropyModule
from tests.running import environment

Strike = tuple[signal.Signals, int]  # a signal and the step of training, from 1, in which it comes
forks = multiprocessing.get_context("forkserver")


def preload(*modules: str) -> None:
    """Modules that the processes shall not have to import; call before the first one is started."""
    forks.set_forkserver_preload(["figlang.commands.train", "figlang.commands.evaluate", *modules])


class Group:
    """Processes that run `python script arguments` together in `home`; one alone knows of no others. `said`
    is all their output.

    The last one gets a signal in a training step, if `struck` says so.
    """

    def __init__(
        self, size: int, home: Path, script: str, *arguments: str, struck: Strike | None = None
    ) -> None:
        self.output = home / f"output-{time.monotonic_ns()}.txt"
        self.processes: list[ForkServerProcess] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = {
            "WORLD_SIZE": size,
            "LOCAL_WORLD_SIZE": size,
            "GROUP_RANK": 0,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        # DeepSpeed compiles a part of itself, which takes minutes: once, and not in every test's own home.
        compiled = {
            "TORCH_EXTENSIONS_DIR": os.environ.get(
                "TORCH_EXTENSIONS_DIR", str(Path.home() / ".cache" / "torch_extensions")
            )
        }
        for rank in range(size):
            place = (
                {**shared, "RANK": rank, "LOCAL_RANK": rank, "TORCHELASTIC_RUN_ID": "test"}
                if size > 1
                else {}
            )
            known = environment(home) | compiled | {name: str(value) for name, value in place.items()}
            strike = struck if rank == size - 1 else None
            process = forks.Process(
                target=_enter, args=(script, arguments, str(home), known, str(self.output), strike)
            )
            process.start()
            self.processes.append(process)

    @property
    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def wait(self) -> "Group":
        codes = self.codes()
        assert codes == [0] * len(codes), self.said
        return self

    def codes(self) -> list[int | None]:
        """The exit codes, when all have ended."""
        # As torchrun does: where one has failed, the others would wait for it for ever.
        while any(process.is_alive() for process in self.processes) and not self._failed:
            time.sleep(0.01)
        for process in self.processes:
            if self._failed:
                process.kill()
            process.join()
        return [process.exitcode for process in self.processes]

    @property
    def _failed(self) -> bool:
        return any(process.exitcode not in (None, 0, 143) for process in self.processes)


def _enter(
    script: str,
    arguments: tuple[str, ...],
    home: str,
    known: dict[str, str],
    output: str,
    strike: Strike | None,
) -> None:
    os.chdir(home)
    os.environ.clear()
    os.environ.update(known)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    rank_zero_only.rank = int(known.get("RANK", 0))  # Lightning has read it when it was imported
    if strike is not None:
        _prepare(*strike)
    sys.argv = [script, *arguments]
    __import__(script.removesuffix(".py")).main()


def _prepare(number: signal.Signals, step: int) -> None:
    whole = CrossEntropyModule.loss

    def loss(module: CrossEntropyModule, batch: Any) -> dict[str, Tensor]:
        if module.global_step == step - 1 and module.trainer.training:
            os.kill(os.getpid(), number)
        return whole(module, batch)

    CrossEntropyModule.loss = loss  # type: ignore[method-assign]
