"""Tests of kinds with many members: `make test` takes some of them, `make test-every` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], *always: Any) -> list[Any]:
    """The parameters of a test.

    Args:
        values: All of them.
        always: Those that `make test` takes.

    Returns:
        The same in their order. The others have the marker `every`.
    """
    values = list(values)
    assert all(value in values for value in always), "a name that is not there"
    return [value if value in always else _later(value) for value in values]


def _later(value: Any) -> Any:
    given = value if isinstance(value, tuple) else (value,)
    return pytest.param(*given, marks=pytest.mark.every)
