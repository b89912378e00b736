"""A command imports what it needs: an evaluation and a finished run do without libraries of trainings."""

from pathlib import Path

import pytest

from tests.running import ROOT, TINY, python, train

# Each takes a quarter of a second to some seconds to import.
HEAVY = {
    *("lightning_fabric", "pytorch_lightning", "torchmetrics", "peft", "datasets", "matplotlib", "pandas"),
    *("sklearn", "wandb", "openai", "spacy", "nltk", "gensim", "bitsandbytes", "sentence_transformers"),
    "scipy.stats",
}
SCRIPT = f"""
import atexit, runpy, sys
atexit.register(lambda: print("loaded", *sorted({HEAVY} & set(sys.modules))))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def loaded(home: Path, *words: str) -> list[str]:
    """The heavy libraries that a command had loaded when it ended."""
    ended = python(home, "-c", SCRIPT, *words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1].split()[1:]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    assert train(folder, "run=run", "blind=false").returncode == 0
    return folder


@pytest.mark.every
def test_an_evaluation_loads_no_library_of_trainings(finished: Path) -> None:
    words = ["checkpoint=run", "data=figqa_sample", "data.limit=10", "output=out"]
    assert loaded(finished, str(ROOT / "evaluate.py"), *words) == []


def test_plain_adapters_are_evaluated_without_them(tmp_path: Path) -> None:
    assert train(tmp_path, "run=run", "blind=false", "peft=lora").returncode == 0
    words = ["checkpoint=run", "data=figqa_sample", "data.limit=10", "output=out"]
    assert loaded(tmp_path, str(ROOT / "evaluate.py"), *words) == []


def test_a_finished_run_is_shown_without_them(finished: Path) -> None:
    again = [*TINY, f"paths.runs={finished / 'runs'}", "run=run", "blind=false"]
    # The learning curve of runs that differ in their training items is a figure.
    assert set(loaded(finished, str(ROOT / "train.py"), *again)) <= {"matplotlib"}
