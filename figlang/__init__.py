"""figlang: train and evaluate language models on figurative language."""

import os
import sys
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

# Huge pages for large tensors: a page at a time costs a twentieth of scoring. Here, since torch reads it with
# its first tensor.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
# GNU's OpenMP lets a thread that waits for others spin for a millisecond or so. If another program wants the
# core, all then wait for the one that does not run. With so few turns a busy core costs half the speed, not
# nine tenths, and a quiet machine loses nothing.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "4000")

__version__ = version("figlang")


def _interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
    else:
        sys.__excepthook__(kind, error, trace)


# Importing torch takes seconds, and Ctrl-C in them would show a traceback. A program that only uses figlang
# keeps its own way.
_started = sys.orig_argv[1:3]
if Path(sys.argv[0] if sys.argv else "").name in ("figlang", "train.py", "evaluate.py") or (
    _started[:1] == ["-m"] and _started[-1].split(".")[0] == "figlang"
):
    sys.excepthook = _interrupted
