"""What the terminal shows of a finished evaluation, from top to bottom."""

import io
import json
from pathlib import Path

from rich.console import Console

from figlang.reports import showing

RELEASED = Path(__file__).parents[2] / "checkpoints" / "minilm-figqa-large"


def test_ones_own_result_stands_before_published_numbers() -> None:
    content = json.loads((RELEASED / "metrics.json").read_text(encoding="utf-8"))
    console = Console(file=io.StringIO(), width=80)
    showing.show(content, RELEASED, console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    places = [
        shown.index(text) for text in ("MiniLM on Fig-QA, dev", "pair accuracy", "GPT-3 Ada", "signature ")
    ]
    assert places == sorted(places)
    assert shown.splitlines()[-1] == str(RELEASED)
