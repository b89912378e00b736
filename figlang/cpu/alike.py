"""Telling functions of transformers that say the same: families copy each other's code, and what is faster for one is for all."""

import inspect
from typing import Any


def compiled(function: Any) -> tuple[Any, ...] | None:
    """What a function compiles to, its docstring (the first constant) apart; None if it is no plain function."""
    if not inspect.isfunction(function):
        return None
    code = function.__code__
    return code.co_code, code.co_consts[1:], code.co_names, code.co_varnames
