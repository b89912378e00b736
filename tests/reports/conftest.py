"""Fixtures of reports."""

from pathlib import Path

import pytest

from figlang.config import PathsConfig
from figlang.tasks import registry
from figlang.types import Split
from tests.report_runs import SAMPLE, two_runs


@pytest.fixture(scope="session")
def sample() -> Split:
    return registry.load("validation", SAMPLE, PathsConfig())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, sample: Split) -> Path:
    return two_runs(tmp_path_factory.mktemp("report"), sample)
