"""`figlang reproduce table=TABLE` as a command for each table."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.reproduce import main
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.tasks.registry import reproduced
from tests.documents import metrics_of

Run = Callable[..., dict[str, Any]]

OPTIONS: dict[str, type[ReproduceConfig]] = {name: table.options for name, table in reproduced().items()}


def table(name: str) -> Callable[[], Any]:
    """The command of a table, which reads sys.argv."""

    def command() -> None:
        sys.argv[1:1] = [f"table={name}"]
        main()

    return command


miqa_table3 = table("miqa_table3")
munch_judge = table("munch_judge")
munch_generate = table("munch_generate")
munch_figures = table("munch_figures")


def runner(monkeypatch: pytest.MonkeyPatch, output: Path, *fixed: str) -> Run:
    """A function that runs a command with some words besides those that are fixed, and reads its results."""

    def run(command: Callable[[], None], *words: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["x.py", f"output={output}", *fixed, *words])
        command()
        given = [Path(word.partition("=")[2]) for word in words if word.startswith("output=")]
        return metrics_of((*given, output)[0])

    return run
