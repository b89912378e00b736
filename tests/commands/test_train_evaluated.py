"""The evaluation at the end of a training: in the memory of the training, and what is said if it lacks."""

import json
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

from figlang.evaluation import opening
from figlang.models import checkpoint
from figlang.training import preparation
from tests import causal_models
from tests.running import run, train


@pytest.mark.parametrize("init", ["default", "loftq"])
def test_adapters_over_four_bits_are_evaluated_over_four_bits(tmp_path: Path, init: str) -> None:
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    sizes = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16}
    causal_models.network("llama", **sizes).save_pretrained(tmp_path / "base")
    causal_models.tokenizer().save_pretrained(tmp_path / "base")
    model = ("model=causal", f"model.name_or_path={tmp_path / 'base'}", "model.init=pretrained")
    peft = ("peft=qlora", f"peft.init={init}")
    ended = train(tmp_path, "data=figqa_sample", *model, "model.bos=add", *peft, "run=run")
    assert ended.returncode == 0, ended.stderr
    measured = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert "|adapters:apart|" in measured["signature"]
    assert "+4bit|" in measured["signature"]
    words = ("data=figqa_sample", "data.limit=32", "trainer=cpu", "trainer.progress=false", "output=again")
    again = run(tmp_path, "evaluate.py", "checkpoint=run", *words)
    assert again.returncode == 0, again.stderr
    assert json.loads((tmp_path / "again" / "metrics.json").read_text())["signature"] == measured["signature"]


def test_it_does_not_hold_the_trained_network_beside_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[weakref.ref[Any]] = []
    left: list[Any] = []
    prepare, load = preparation.prepare, checkpoint.load

    def prepared(*given: Any) -> Any:
        ready = prepare(*given)
        trained.append(weakref.ref(ready.network))
        return ready

    def opened(*given: Any) -> Any:
        left.extend(each() for each in trained)
        return load(*given)

    monkeypatch.setattr(preparation, "prepare", prepared)
    monkeypatch.setattr(checkpoint, "load", opened)
    for run_, words in (("all", ()), ("lora", ("peft=lora", "method.selection=heldout"))):
        ended = train(tmp_path, "data=figqa_sample", "model=smollm2", f"run={run_}", *words)
        assert ended.returncode == 0, ended.stderr
    assert left == [None, None, None], "of two trainings, the first of which has ended"


def test_a_lack_of_memory_in_it_is_not_one_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("data=figqa_sample", "model=smollm2", "run=run")

    def scarce(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    with monkeypatch.context() as patch:
        patch.setattr(opening, "export", scarce)
        ended = train(tmp_path, *words)
    assert ended.returncode == 2
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("error: out of memory in the evaluation; ")
    assert "run is trained and exported" in last
    again = train(tmp_path, *words)
    assert again.returncode == 0, again.stderr
    assert "resuming from" in again.stderr, "nothing is trained a second time"
    assert "epoch 1 of 1" not in again.stderr
