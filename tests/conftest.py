"""Fixtures that several test files share."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from figlang.files.whole import slug
from tests import once
from tests.toll import TOLL, Toll, lines

ROOT = Path(__file__).parent.parent


def pytest_configure() -> None:
    # A shell that starts the tests in the background lets them ignore Ctrl-C, which some of them send.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ended = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
    ]
    counted = [
        (report.nodeid.rpartition("::")[2], row)
        for report in ended
        for name, row in report.user_properties
        if name == TOLL and isinstance(row, dict)
    ]
    for line in lines(counted):
        terminalreporter.write_line(line)


def _stand_in(figure: Any, path: Path, suffixes: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for suffix in suffixes:
        path.with_name(f"{slug(path.name)}.{suffix}").write_text("a stand-in for a figure")


@pytest.fixture(scope="module", autouse=True)
def _figures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Commands paint their figures and leave a file of each, but matplotlib renders them only in files that
    have the marker `drawn`: it takes a sixth of the time of a training on the sample."""
    if request.node.get_closest_marker("drawn"):
        yield
        return
    with patch("figlang.tables.drawing.save", _stand_in):
        yield


@pytest.fixture(scope="module", autouse=True)
def _presets() -> Iterator[None]:
    """Commands compose what the same presets say once. A file about compositions has a fixture of this name,
    so that each is made anew there."""
    with once.composed():
        yield


@pytest.fixture(scope="module", autouse=True)
def _intervals() -> Iterator[None]:
    """Commands reckon the intervals of the same numbers once. tests/statistics has a fixture of this name, so
    that each is reckoned there."""
    with once.reckoned():
        yield


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The stand-in as `vllm`; the engines that it opened are in `vllm.LLM.opened`."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "standins"))
    # An engine sets it, and no test keeps it.
    monkeypatch.setenv("VLLM_WORKER_MULTIPROCESSING_METHOD", "spawn")
    import vllm

    yield vllm
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        del sys.modules[name]


@pytest.fixture
def toll(record_property: Callable[[str, object], None]) -> Iterator[Toll]:
    """What a test of kills counts; the summary shows it, also of a test that fails."""
    counted = Toll()
    yield counted
    record_property(TOLL, counted.counts())


def published(file: str) -> str:
    """The folder that holds the published data sets in upstream layout; skips where `file` is not in it."""
    named = os.environ.get("FIGLANG_DATA")
    beside = [ROOT.parent / "shared" / "data", ROOT.resolve().parent / "shared" / "data"]
    looked_in = [Path(named).expanduser()] if named else list(dict.fromkeys(beside))
    for folder in looked_in:
        if (folder / file).is_file():
            return str(folder)
    pytest.skip(f"no {file} in {' or '.join(map(str, looked_in))}; set FIGLANG_DATA to the data folder")


@pytest.fixture(scope="session")
def figqa_root() -> str:
    return published("figqa/filtered/train.csv")


@pytest.fixture(scope="session")
def winogrande_root() -> str:
    return published("winogrande/train_l.jsonl")


@pytest.fixture(scope="session")
def snli_root() -> str:
    return published("snli/s1.dev")
