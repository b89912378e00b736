"""The Python of the guide runs as it is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT

GUIDE = ROOT / "docs" / "guides" / "python.md"


@pytest.mark.every
def test_the_blocks_of_the_guide_run_one_after_the_other_and_say_nothing_else(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 6
    lines = [line for line in blocks[0].splitlines() if line.strip()]
    assert len(lines) <= 10
    checks = (
        "assert scores.text == 'Her voice was soft.' and len(own) == 2 and list(again) == list(predictions)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join([*blocks, checks])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("MiniLM on Fig-QA sample, dev") == 1
    assert (tmp_path / "paper" / "report.html").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["paper", "runs"]
