"""figlang: train and evaluate language models on figurative language.

The Python API is here: `load` or `items` give items, `open_model` a model, and `measure`, `compare` and
`report` take its predictions. Each is imported when it is first asked for.
"""

import os
import sys
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from figlang.api.comparing import Comparison, compare
    from figlang.api.items import Items, items, load
    from figlang.api.measuring import Metrics, measure
    from figlang.api.models import Model, Scores, open_model
    from figlang.api.predictions import Predictions
    from figlang.api.reporting import report
    from figlang.errors import FiglangError

    __version__: str

# Huge pages for large tensors: a page at a time costs a twentieth of scoring. Here, since torch reads it with
# its first tensor.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
# GNU's OpenMP lets a thread that waits for others spin for a millisecond or so. If another program wants the
# core, all then wait for the one that does not run. With so few turns a busy core costs half the speed, not
# nine tenths, and a quiet machine loses nothing.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "4000")

__all__ = [
    "Comparison",
    "FiglangError",
    "Items",
    "Metrics",
    "Model",
    "Predictions",
    "Scores",
    "compare",
    "items",
    "load",
    "measure",
    "open_model",
    "report",
]
# The modules of the API's names.
_MODULES = {
    **dict.fromkeys(("Comparison", "compare"), "figlang.api.comparing"),
    **dict.fromkeys(("Items", "items", "load"), "figlang.api.items"),
    **dict.fromkeys(("Metrics", "measure"), "figlang.api.measuring"),
    **dict.fromkeys(("Model", "Scores", "open_model"), "figlang.api.models"),
    "Predictions": "figlang.api.predictions",
    "report": "figlang.api.reporting",
    "FiglangError": "figlang.errors",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":  # its reader takes longer to import than all else here
        globals()[name] = import_module("importlib.metadata").version("figlang")
        return globals()[name]
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module("figlang.machine.importing").imported(_MODULES[name])
    globals()[name] = value = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
    else:
        sys.__excepthook__(kind, error, trace)


# Importing torch takes seconds, and Ctrl-C in them would show a traceback. A program that only uses figlang
# keeps its own way.
_started = sys.orig_argv[1:3]
if "".join(sys.argv[:1]).rpartition(os.sep)[2] in ("figlang", "train.py", "evaluate.py") or (
    _started[:1] == ["-m"] and _started[-1].split(".")[0] == "figlang"
):
    sys.excepthook = _interrupted
