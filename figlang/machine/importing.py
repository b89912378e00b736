"""Imports of large libraries, without the work that a start can do without."""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from figlang.errors import FiglangError

MODELS = "transformers.models"
LISTING = "transformers.utils.import_utils"


def imported(name: str) -> ModuleType:
    """Import a module without collecting garbage meanwhile.

    The libraries make millions of objects that stay. Looking through them again and again takes a sixth of
    the time. They are not looked through later either.

    Args:
        name: The full name of the module.

    Raises:
        FiglangError: Python leaves out docstrings, which transformers reads.
    """
    if sys.flags.optimize > 1:
        raise FiglangError(
            "python -OO (or PYTHONOPTIMIZE=2) leaves out docstrings, which transformers needs; use python or "
            "python -O"
        )
    if name in sys.modules:  # a second run of a process must not keep the garbage of the first one
        return import_module(name)
    with uncollected(), _listed_once(), unadvised():
        try:
            return import_module(name)
        finally:
            gc.freeze()


@contextmanager
def uncollected(collect: bool = False) -> Iterator[None]:
    """Collect no garbage for the time of a block that makes many objects, nearly all of which stay.

    Args:
        collect: Collect it in this block all the same.
    """
    collects = gc.isenabled()
    (gc.enable if collect else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if collects else gc.disable)()


def collected() -> AbstractContextManager[None]:
    """Collect garbage for the time of a block within one that collects none."""
    return uncollected(collect=True)


@contextmanager
def unadvised() -> Iterator[None]:
    """Ignore the advice to install a notebook's own progress bars, which libraries give as they are imported.

    Other filters of warnings stay: those of the caller, and those that the libraries add.
    """
    before = list(warnings.filters)
    warnings.filterwarnings("ignore", message="IProgress not found")
    own = warnings.filters[0]
    try:
        yield
    finally:
        if own not in before and own in warnings.filters:
            warnings.filters.remove(own)  # type: ignore[attr-defined]


@contextmanager
def _listed_once() -> Iterator[None]:
    """Let transformers read the files of its models once, and from their `__all__` on.

    To know its classes it looks through all lines of some 1,700 files, when it is imported and again when its
    first model is. The second time it gets the first list here. If it asks in another way, it reads them
    again.
    """
    finder = _Listed()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.leave()


def shortened(fetch: Callable[[str], Any]) -> Callable[[str], Any]:
    """Give a function that reads `__all__` in the text of a file only what it needs.

    Of several lines that begin so, it takes the last one.
    """
    return lambda text: fetch(text[text.rfind("\n__all__") + 1 :])


class _Listed(MetaPathFinder):
    """Notices that transformers is about to list its classes. It finds no module itself."""

    def __init__(self) -> None:
        self._fetch: Any = None
        self._define: Any = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        listing: Any = sys.modules.get(LISTING)
        if self._fetch is None and hasattr(listing, "fetch__all__"):
            self._fetch = listing.fetch__all__
            listing.fetch__all__ = shortened(self._fetch)
        if fullname == MODELS and self._define is None and hasattr(listing, "define_import_structure"):
            self._define = listing.define_import_structure
            listing.define_import_structure = self._answer
        return None

    def leave(self) -> None:
        """Undo what was changed."""
        listing: Any = sys.modules.get(LISTING)
        if self._fetch is not None:
            listing.fetch__all__, self._fetch = self._fetch, None
        if self._define is not None:
            listing.define_import_structure, self._define = self._define, None

    def _answer(self, module_path: Any, prefix: str | None = None) -> Any:
        folder = Path(str(sys.modules["transformers"].__file__)).parent / "models"
        if prefix is not None or Path(module_path) != folder / "__init__.py":
            return self._define(module_path, prefix)
        whole = self._define(folder, prefix="models")  # transformers keeps the answers that it gave before
        return {
            needed: {
                name.removeprefix("models."): set(classes)
                for name, classes in names.items()
                if name.startswith("models.")
            }
            for needed, names in whole.items()
        }
