"""The end of a command's process, without work that nobody needs."""

import atexit
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType


def run(command: Callable[[], None]) -> None:
    """Run the command of a process, and end the process with it.

    Python would then take millions of objects apart, one by one, though the system frees all memory at once.
    What others rely on happens as usual: threads end, functions of `atexit` run, what was printed is written,
    and the exit code is the same. Errors other than SystemExit, and debuggers, profilers and `python -i`,
    which go on after the command, see the usual end.

    Args:
        command: The command. Only the file that the process runs may give it here: what follows is not run.

    Raises:
        SystemExit: That of the command, if Python itself ends the process.
    """
    end = None
    try:
        command()
    except SystemExit as raised:
        end = raised
    code = 0 if end is None or end.code is None else end.code
    if isinstance(code, int) and _outermost() and _finished():
        os._exit(code)
    if end is not None:
        raise end


def _outermost() -> bool:
    """Whether nothing runs the file from which `run` was called, apart from Python's own `-m`."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    outer = None if frame is None else frame.f_back
    while outer is not None and outer.f_globals.get("__name__") == "runpy":
        outer = outer.f_back
    return frame is not None and outer is None and not sys.flags.inspect


def _finished() -> bool:
    """Do what Python does before it takes objects apart, in its order, as multiprocessing does.

    Returns:
        Whether all that was printed is written. If it is not, Python's own end says why.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True
