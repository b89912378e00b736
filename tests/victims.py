"""Commands that are killed, or let loose on one folder together: forked from a process that has imported
everything."""

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import torch
import yaml
from safetensors import safe_open

from figlang.config.signature import digest
from figlang.files import folders
from figlang.files.whole import is_unfinished
from figlang.runs import cells
from tests.processes import forks
from tests.running import environment

PRELOADED = tuple(
    f"figlang.commands.{name}" for name in ("generate", "rate", "report", "compare", "reproduce")
)
QUIET = ["debug=fast", "trainer=cpu", "trainer.progress=false", "trainer.threads=1"]
NEW_PIDS = 0x20000000  # CLONE_NEWPID of <sched.h>


class Victim:
    """A command in a process of its own, `said` being all it says.

    With `alone` it is process 1 of a namespace, as in a container. `last` renamings are done, and then the
    process is killed.
    """

    def __init__(
        self, home: Path, module: str, *arguments: str, alone: bool = False, last: int | None = None
    ) -> None:
        self.output = home.parent / f"output-{time.monotonic_ns()}.txt"
        self.process: ForkServerProcess = forks.Process(
            target=_enter, args=(str(home), module, arguments, str(self.output), alone, last)
        )
        self.process.start()

    def kill_after(self, seconds: float) -> bool:
        """Whether it was still at work then, and is dead now."""
        self.process.join(seconds)
        struck = self.process.is_alive()
        if struck:
            self.process.kill()
        self.process.join()
        return struck

    def wait(self) -> int:
        self.process.join()
        return int(self.process.exitcode or 0)

    @property
    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""


def _enter(
    home: str, module: str, arguments: tuple[str, ...], output: str, alone: bool, last: int | None
) -> None:
    os.chdir(home)
    os.environ.clear()
    os.environ.update(environment(Path(home)))
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if alone and ctypes.CDLL(None).unshare(NEW_PIDS) == 0:
        _hand_over()
    if last is not None:
        count_down(last, ("rename", "replace"))
    sys.argv = [f"{module.replace('.', '/')}.py", *arguments]
    import_module(module).main()


def _hand_over() -> None:
    """Go on in a child, which is the first one of the new namespace; the parent ends as it does, and takes it
    along."""
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: dies with its parent
        assert os.getpid() == 1
        return
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def count_down(steps: int, names: Sequence[str]) -> None:
    """Let this process do so many more of the functions of `os` with these names, and then be killed."""
    left = steps

    def counted(whole: Callable[..., Any]) -> Callable[..., Any]:
        def act(*arguments: Any, **more: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return whole(*arguments, **more)

        return act

    for name in names:
        setattr(os, name, counted(getattr(os, name)))


def half_files(folder: Path) -> Iterator[Path]:
    """Files below a folder that have their name and cannot be read to the end."""
    for path in sorted(folder.rglob("*")):
        parts = [folder / part for part in path.relative_to(folder).parts]
        hidden = any(
            is_unfinished(Path(part.name)) or part.name.startswith((folders.STAGE, folders.READY))
            for part in parts
        )
        if path.is_file() and not hidden and not _is_whole(path):
            yield path


def _is_whole(path: Path) -> bool:
    try:
        return _read(path)
    except Exception:  # any reader's own
        return False


def _read(path: Path) -> bool:
    content = path.read_bytes()
    if path.name == folders.LOCK or path.suffix == ".lock":
        return True
    if not content:
        return False
    if path.suffix == ".json":
        json.loads(content)
    elif path.suffix == ".jsonl":
        assert content.endswith(b"\n")
        [json.loads(line) for line in content.splitlines()]
    elif path.suffix == ".svg":
        ElementTree.fromstring(content)
    elif path.suffix == ".png":
        return content.endswith(b"IEND\xaeB`\x82")
    elif path.suffix == ".pdf":
        return content.rstrip().endswith(b"%%EOF")
    elif path.name == cells.MADE_BY:  # one line without an end, a signature and a digest
        return len(content.rpartition(b" ")[2]) == len(digest(""))
    elif path.suffix == ".html":
        return content.rstrip().endswith(b"</html>")
    elif path.suffix == ".yaml":
        yaml.safe_load(content)
    elif path.suffix == ".ckpt":
        torch.load(path, weights_only=True)
    elif path.suffix == ".safetensors":
        with safe_open(path, "pt") as file:
            [file.get_tensor(name) for name in file.keys()]  # noqa: SIM118
    else:
        return content.endswith(b"\n")
    return True


def metrics(folder: Path) -> dict[str, Any]:
    """What was measured, by each metrics.json below a folder."""
    found = {}
    for path in sorted(folder.rglob("metrics.json")):
        content = json.loads(path.read_text())
        found[path.relative_to(folder).as_posix()] = content.get("metrics", content.get("begins_as_expected"))
    return found
