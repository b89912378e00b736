"""A call leaves the caller's program as it was, also from several threads."""

import logging
import os
import random
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers.utils import logging as library

import figlang
from figlang.api import quiet

hub: Any = import_module("huggingface_hub.utils")
VARIABLES = "PL_GLOBAL_SEED", "PL_SEED_WORKERS", "DS_ACCELERATOR"
LOGGERS = "figlang", "fontTools", "transformers", "pytorch_lightning"


def state() -> dict[str, Any]:
    """What a call could change."""
    return {
        "variables": {name: os.environ.get(name) for name in VARIABLES},
        "random": random.getstate(),
        "numpy": np.random.get_state(legacy=False)["state"]["key"].tolist(),
        "torch": torch.get_rng_state().tolist(),
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "levels": [logging.getLogger(name).level for name in LOGGERS],
        "handlers": list(logging.getLogger("figlang").handlers),
        "filters": list(warnings.filters),
        "bars": (library.is_progress_bar_enabled(), hub.are_progress_bars_disabled()),
    }


@pytest.fixture(autouse=True)
def as_begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program that shows bars, with two threads and no variables; afterwards all is as it was."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    threads, shown = torch.get_num_threads(), library.is_progress_bar_enabled()
    torch.set_num_threads(2)
    library.enable_progress_bar()
    yield
    torch.set_num_threads(threads)
    (library.enable_progress_bar if shown else library.disable_progress_bar)()


@pytest.mark.drawn
def test_every_call_leaves_the_program_as_it_was(tmp_path: Path) -> None:
    items = figlang.load("figqa_sample", split="dev")[:12]
    model = figlang.open_model("minilm", init="tiny")
    logging.getLogger("fontTools").setLevel(logging.NOTSET)
    before = state()
    other = figlang.open_model("smollm2", init="tiny")
    predictions = model.predict(items, "trainer.threads=1", name="one")
    figlang.compare(predictions, other.predict(items, scoring="pmi", name="two"))
    figlang.report(predictions, tmp_path / "report")
    assert state() == before


@pytest.mark.parametrize("shown", [(True, False), (False, True), (False, False)])
def test_bars_stay_as_the_caller_set_them(shown: tuple[bool, bool]) -> None:
    (library.enable_progress_bar if shown[0] else library.disable_progress_bar)()
    (hub.enable_progress_bars if shown[1] else hub.disable_progress_bars)()
    with quiet.quietly():
        library.disable_progress_bar()
    assert (library.is_progress_bar_enabled(), not hub.are_progress_bars_disabled()) == shown


def test_a_variable_of_the_caller_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PL_GLOBAL_SEED", "7")
    figlang.open_model("minilm", init="tiny").score("a", ["b", "c"])
    assert os.environ["PL_GLOBAL_SEED"] == "7"


def test_threads_have_the_numbers_of_one_after_the_other() -> None:
    items = figlang.load("figqa_sample", split="dev")[:40]
    models = [figlang.open_model(name, init="tiny") for name in ("smollm2", "minilm", "qwen3_0_6b")]
    alone = [model.predict(items, name="one").to_list() for model in models]
    before = state()
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda model: model.predict(items, name="one"), models * 3))
    assert [each.to_list() for each in found] == alone * 3
    assert state() == before


def test_warnings_of_another_thread_are_not_notes_of_this_call() -> None:
    def warned(text: str) -> list[str]:
        with quiet.quietly() as notes:
            for _ in range(200):
                logging.getLogger("figlang").warning(text)
                torch.zeros(200, 200).sum()  # lets another thread work
        return notes

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(warned, ("first", "second"))) == [["first"], ["second"]]
