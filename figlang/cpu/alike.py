"""Telling functions of transformers that say the same: families copy each other's code, and what is faster
for one is for all."""

import inspect
from typing import Any


def alike(one: Any, other: Any) -> bool:
    """Whether two plain functions compile to the same, their docstrings apart; False for whatever is no plain
    function."""
    return inspect.isfunction(one) and inspect.isfunction(other) and _said(one) == _said(other)


def _said(function: Any) -> tuple[Any, ...]:
    code = function.__code__
    # The first constant is the docstring, or None without one.
    constants = code.co_consts[code.co_consts[:1] == (function.__doc__,) :]
    return code.co_code, constants, code.co_names, code.co_varnames, function.__defaults__
