"""What is shown of a training: one line at 80 columns, and an honest estimate of its time."""

import io
import logging
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pytorch_lightning import LightningModule
from rich.console import Console
from rich.progress import Progress

from figlang.machine import bars
from figlang.text.amounts import duration
from figlang.training import progress
from figlang.training.progress import OneLine, Pace


def test_the_bar_is_one_line_of_80() -> None:
    bar = OneLine()
    trainer: Any = SimpleNamespace(max_epochs=100)
    bar._trainer = trainer
    assert bar.get_metrics(trainer, LightningModule()) == {}
    said = io.StringIO()
    console = Console(file=said, width=80, force_terminal=True, color_system=None)
    with Progress(*bar.configure_columns(trainer), console=console, auto_refresh=False) as shown:
        shown.add_task(bar._get_train_description(98), total=12345, completed=12000)
        shown.refresh()
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).strip() for line in said.getvalue().splitlines()]
    (line,) = {line for line in lines if line}
    assert line.startswith("epoch 99 of 100")
    assert "12000/12345" in line


def test_forced_colours_make_no_bar_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert Console(stderr=True).is_terminal
    assert [type(one) for one in progress.shown(True, logging.Logger("bars"))] == [Pace]
    assert list(bars.track(range(3), "counting")) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def paced(monkeypatch: pytest.MonkeyPatch, seconds: list[float], again: bool, last: int) -> list[str]:
    """The lines of a training whose steps end at these seconds."""
    said: list[str] = []
    logger = logging.Logger("pace")
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    times = iter(seconds)
    monkeypatch.setattr(progress, "perf_counter", lambda: next(times))
    trainer: Any = SimpleNamespace(max_epochs=3, current_epoch=0, estimated_stepping_batches=last)
    pace = Pace(logger, again)
    pace.on_train_start(trainer, LightningModule())
    for step in range(1, len(seconds) + 1):
        trainer.global_step = step
        pace.on_train_batch_end(trainer)
    return said


def test_the_estimate_is_made_of_the_steps_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first step takes 100 s, and the others 10 s each: the third is the first after 15 s.
    steps = [100.0 + 10 * step for step in range(9)]
    line = "step 3 of 103, epoch 1 of 3: about 17 min left at this rate"
    assert paced(monkeypatch, steps, again=False, last=103) == [line]
    assert paced(monkeypatch, steps, again=True, last=103) == [
        line,
        "step 9 of 103, epoch 1 of 3: about 16 min left at this rate",
    ]


def test_a_short_training_has_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert paced(monkeypatch, [1.0, 11.0, 21.0, 31.0], again=True, last=5) == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.1, "1 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (7200, "2.0 h"), (864000, "10.0 days")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_without_a_terminal_there_is_no_bar() -> None:
    assert [type(each) for each in progress.shown(True, logging.getLogger())] == [Pace]
