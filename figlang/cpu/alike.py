"""Recognise equal functions of transformers.

Families of models copy each other's code. So a faster version for one family serves all of them.
"""

import inspect
from typing import Any


def alike(first: Any, second: Any) -> bool:
    """Whether two plain functions compile to the same code, apart from docstrings.

    Decorated functions must have the same decorators too. False for other objects.
    """
    if not inspect.isfunction(first) or not inspect.isfunction(second) or _said(first) != _said(second):
        return False
    inner = [getattr(function, "__wrapped__", None) for function in (first, second)]
    return inner == [None, None] or alike(*inner)


def _said(function: Any) -> tuple[Any, ...]:
    code = function.__code__
    # The first constant is the docstring, or None without one.
    constants = code.co_consts[code.co_consts[:1] == (function.__doc__,) :]
    return code.co_code, constants, code.co_names, code.co_varnames, function.__defaults__
