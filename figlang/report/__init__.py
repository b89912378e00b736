"""Show evaluations to people: tables in the terminal, and one page with tables and figures."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    """This package, which can be called: `figlang.report` is a room of the house and a function of the API,
    and whichever is imported first, the name is one object."""

    def __call__(self, sources: Any, folder: Any, **options: Any) -> Any:
        # By its name: the API comes after this room.
        return import_module("figlang.api.reporting").report(sources, folder, **options)


sys.modules[__name__].__class__ = _Report
