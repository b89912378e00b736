"""Fixtures of the tests of statistics."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _intervals() -> None:
    """Each interval is reckoned anew."""
