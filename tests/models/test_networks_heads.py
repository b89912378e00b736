"""Training from trained networks: what is kept, what is new, what the log says."""

import logging
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import networks
from figlang.types import CLASSES


def saved(folder: Path, format: str, options: int = 2) -> PreTrainedModel:
    torch.manual_seed(1)
    network, tokenizer = networks.build(ModelConfig(init="tiny"), format, ["The room was an oven."], options)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return network


def start(folder: Path, format: str, options: int = 2, trained: bool = False) -> PreTrainedModel:
    torch.manual_seed(2)
    return networks.build(ModelConfig(name_or_path=str(folder)), format, [], options, trained)[0]


def equal(one: PreTrainedModel, other: PreTrainedModel, part: str) -> bool:
    ours, theirs = one.get_submodule(part).state_dict(), other.get_submodule(part).state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "figlang"]


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "figlang")


@pytest.mark.parametrize(("format", "options"), [("pair", 2), ("joint", 2), ("nli", 3)])
def test_a_head_of_the_same_shape_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, format: str, options: int
) -> None:
    source = saved(tmp_path, format, options)
    network = start(tmp_path, format, options)
    assert equal(source, network, "bert")
    assert equal(source, network, "classifier")
    assert said(caplog) == [f"weights of {tmp_path}, head included"]


@pytest.mark.parametrize(
    ("before", "after"), [("nli", "pair"), ("pair", "nli"), ("joint", "pair"), ("nli", "joint")]
)
def test_a_head_of_another_shape_is_new_and_the_encoder_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: str, after: str
) -> None:
    source = saved(tmp_path, before, 3 if before == "nli" else 2)
    network = start(tmp_path, after, 3 if after == "nli" else 2)
    assert equal(source, network, "bert")
    assert said(caplog) == [f"weights of {tmp_path}; new, since it has none in this shape: classifier"]


def test_a_bare_encoder_has_no_head_to_keep(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saved(tmp_path, "nli", 3)
    start(tmp_path, "dual")
    assert said(caplog) == [f"weights of {tmp_path}"]


def test_a_dual_encoder_gets_pooler_and_head(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = saved(tmp_path, "dual")
    network = start(tmp_path, "pair")
    assert equal(source, network.bert, "encoder")
    assert said(caplog) == [
        f"weights of {tmp_path}; new, since it has none in this shape: bert.pooler.dense, classifier"
    ]


@pytest.mark.parametrize("format", ["pair", "dual"])
def test_a_body_that_lacks_weights_begins_random_only_if_that_was_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, format: str
) -> None:
    saved(tmp_path, format)
    kept = load_file(tmp_path / "model.safetensors")
    (lost,) = (name for name in kept if name.endswith("layer.1.output.dense.weight"))
    del kept[lost]
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    module = lost.removesuffix(".weight")
    with pytest.raises(FiglangError, match=rf"has no weights for {module} below its head; .*init=partial"):
        start(tmp_path, format)
    model = ModelConfig(name_or_path=str(tmp_path), init="partial")
    _, _, new = networks.begin(model, format, [], 2)
    assert new == [module]
    assert f"new, since it has none in this shape: {module}" in said(caplog)[-1]


def test_a_new_nli_head_has_the_names_of_its_classes(tmp_path: Path) -> None:
    saved(tmp_path, "pair")
    config = start(tmp_path, "nli", 3).config
    assert [config.id2label[index] for index in range(3)] == list(CLASSES)
    assert config.label2id == {name: index for index, name in enumerate(CLASSES)}


def test_an_nli_head_keeps_the_order_it_has(tmp_path: Path) -> None:
    source = saved(tmp_path, "nli", 3)
    networks.name_classes(source, ["contradiction", "entailment", "neutral"])
    source.save_pretrained(tmp_path)
    assert start(tmp_path, "nli", 3).config.id2label == {0: "contradiction", 1: "entailment", 2: "neutral"}


def test_what_is_evaluated_has_no_random_head(tmp_path: Path) -> None:
    saved(tmp_path, "pair")
    assert start(tmp_path, "pair", trained=True) is not None
    with pytest.raises(
        FiglangError, match=r"as AutoModelForSequenceClassification it has no trained weights for classifier"
    ):
        start(tmp_path, "nli", 3, trained=True)


def test_a_dual_encoder_is_evaluated_without_a_pooler(tmp_path: Path) -> None:
    saved(tmp_path, "dual")
    start(tmp_path, "dual", trained=True)
