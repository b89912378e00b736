"""Packages that a file of tests needs."""

from importlib.util import find_spec

import pytest


def needs(package: str, reason: str) -> None:
    """Skip a file of tests if a package is not installed, without importing it.

    Each worker collects every file, and some packages take seconds to import.

    Args:
        package: The name to import it by.
        reason: What is shown for the file.
    """
    try:
        there = find_spec(package) is not None
    except ModuleNotFoundError:  # a part of a package that is missing
        there = False
    if not there:
        pytest.skip(reason, allow_module_level=True)
