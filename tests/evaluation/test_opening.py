"""How the model of an evaluation is opened: once for several runs of a command."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.transfer import main as transfer_command
from figlang.models import networks
from tests.calls import call
from tests.running import run

WORDS = ["model=smollm2", "model.init=tiny", "data.limit=8", "trainer=cpu", "trainer.progress=false"]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the causal models that are opened."""
    names: list[str] = []
    causal = networks.causal

    def counted(*given: Any, **more: Any) -> Any:
        names.append(given[0].name)
        return causal(*given, **more)

    monkeypatch.setattr(networks, "causal", counted)
    return names


def test_several_evaluations_open_a_model_once_and_say_the_same(tmp_path: Path, opened: list[str]) -> None:
    for name in ("together", "apart"):
        (tmp_path / name).mkdir()
    prompts, scorings = ("none", "suffix"), ("answer", "pmi")
    asked = [*WORDS, "data=figqa_sample", f"prompt={','.join(prompts)}", f"scoring={','.join(scorings)}"]
    together = run(tmp_path / "together", "evaluate.py", "-m", *asked)
    assert together.returncode == 0, together.stderr
    assert len(opened) == 1
    for prompt in prompts:
        for scoring in scorings:
            apart = run(
                tmp_path / "apart", "evaluate.py", *asked[:-2], f"prompt={prompt}", f"scoring={scoring}"
            )
            assert apart.returncode == 0, apart.stderr
    assert len(opened) == 5, "a run of its own opens its model"
    files = sorted(
        path.relative_to(tmp_path / "apart") for path in tmp_path.glob("apart/**/predictions*.jsonl")
    )
    assert len(files) == 12
    for file in files:
        assert (tmp_path / "together" / file).read_bytes() == (tmp_path / "apart" / file).read_bytes()


def test_several_models_are_opened_once_each_wherever_they_stand(tmp_path: Path, opened: list[str]) -> None:
    asked = ["data=figqa_sample", "scoring=answer,pmi", "model=smollm2,gpt2", *WORDS[1:]]
    ended = run(tmp_path, "evaluate.py", *asked, "-m")
    assert ended.returncode == 0, ended.stderr
    assert opened == ["smollm2-tiny", "gpt2-tiny"]


def test_another_seed_is_opened_again(tmp_path: Path, opened: list[str]) -> None:
    ended = run(tmp_path, "evaluate.py", "-m", *WORDS, "data=figqa_sample", "seed=5,6")
    assert ended.returncode == 0, ended.stderr
    assert len(opened) == 2, "random weights depend on the seed"


def test_a_matrix_opens_each_of_its_networks_once_and_keeps_the_order_of_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("model.init=tiny", "data.limit=8", "paths.runs=runs")
    call(monkeypatch, transfer_command, "data=figqa_sample,miqa_sample", "model=smollm2,gpt2", *words)
    assert opened == ["smollm2-tiny", "gpt2-tiny"]
    (document,) = tmp_path.glob("runs/transfer/*/matrix.json")
    cells = [(cell["column"], cell["row"].split()[-1]) for cell in json.loads(document.read_text())]
    names = ("figqa_sample", "miqa_sample"), ("model=smollm2", "model=gpt2")
    assert cells == list(product(*names))
