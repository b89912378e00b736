"""Names of systems from Python."""

from pathlib import Path

import pytest

import figlang
from figlang.api import models
from figlang.errors import FiglangError
from tests import causal_models
from tests.conftest import ROOT


def test_predictions_are_named_where_they_are_made_and_in_a_comparison() -> None:
    items = figlang.load("figqa_sample", limit=6)
    model = figlang.open_model("minilm", init="tiny")
    first, second = model.predict(items, name="first"), model.predict(items, name="second")
    assert figlang.compare(first, second).names == ("first", "second")
    assert figlang.compare(first, second, rename={"first": "one"}).names == ("one", "second")
    with pytest.raises(FiglangError, match="no system is called third"):
        figlang.compare(first, second, rename={"third": "x"})
    with pytest.raises(FiglangError, match="give two systems or more"):
        figlang.compare(first)


def test_fields_of_an_item_are_not_attributes_of_its_prediction() -> None:
    row = {"id": "a", "context": "x", "options": ["y", "z"], "scores": [1, 2], "gold": 1, "kind": "k"}
    (made,) = figlang.Predictions.from_list([row])
    assert made.attributes == {"kind": ("k",)}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("minilm", ["model=minilm"]),
        ("roberta-base", ["model=roberta_base"]),
        ("ORG/NAME", ["model=ORG/NAME"]),
        ("http://localhost:8000/v1", ["model=served", "model.endpoint='http://localhost:8000/v1'"]),
        ("checkpoints/minilm-multitask", ["checkpoint=checkpoints/minilm-multitask"]),
    ],
)
def test_a_source_is_named_as_on_the_command_line(
    source: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert models.named(source, {}) == words


def test_a_folder_of_weights_is_opened_by_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    causal_models.network("llama").save_pretrained(tmp_path / "my model")
    causal_models.tokenizer().save_pretrained(tmp_path / "my model")
    monkeypatch.chdir(tmp_path)
    model = figlang.open_model("./my model")
    assert repr(model) == "Model my model, read as causal"
    assert len(model.predict(figlang.load("figqa_sample", limit=2))) == 2
    with pytest.raises(FiglangError, match="there is no such folder"):
        figlang.open_model("./no model")
    with pytest.raises(FiglangError, match="is not a preset"):
        figlang.open_model("minlm")
