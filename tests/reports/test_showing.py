"""What the terminal shows of a finished evaluation, from top to bottom."""

import io
import json
from pathlib import Path

from rich.console import Console

from figlang.reports import showing

RELEASED = Path(__file__).parents[2] / "checkpoints" / "minilm-figqa-large"


def test_two_orders_of_more_options_are_not_both() -> None:
    content = json.loads((RELEASED / "metrics.json").read_text(encoding="utf-8"))
    content |= {"replies": {}, "data": {content["split"]: {"items": content["metrics"]["items"] // 2}}}
    assert showing.title(content).endswith(", each item in both orders")
    content["metrics"]["accuracy"]["chance"] = 1 / 3
    assert showing.title(content).endswith(", each item in 2 orders")


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
