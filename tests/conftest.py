"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def figqa_root() -> str:
    """The folder that holds the published data sets in upstream layout (figqa/filtered/train.csv …)."""
    named = os.environ.get("FIGLANG_DATA")
    beside = [ROOT.parent / "shared" / "data", ROOT.resolve().parent / "shared" / "data"]
    looked_in = [Path(named).expanduser()] if named else list(dict.fromkeys(beside))
    for folder in looked_in:
        if (folder / "figqa" / "filtered" / "train.csv").is_file():
            return str(folder)
    pytest.skip(f"no figqa/filtered/train.csv in {' or '.join(map(str, looked_in))}; set FIGLANG_DATA to the data folder")
