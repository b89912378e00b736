"""Heads that read the first token of each row: the last layer computes no other, with equal results."""

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMultipleChoice,
    BertForSequenceClassification,
    BertForTokenClassification,
    MPNetConfig,
    MPNetForMultipleChoice,
    RobertaConfig,
    RobertaForMultipleChoice,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaForMultipleChoice,
)

from figlang.cpu import unpadded
from figlang.cpu.alike import alike
from figlang.cpu.hasten import hasten, release
from tests.cpu.test_encoders import given, layers, noted
from tests.cpu.test_unpadded import SIZE, batch

HEADS = [
    (BertForMultipleChoice, BertConfig),
    (BertForSequenceClassification, BertConfig),
    (RobertaForMultipleChoice, RobertaConfig),
    (XLMRobertaForMultipleChoice, XLMRobertaConfig),
    (MPNetForMultipleChoice, MPNetConfig),
]
PADDED, EVEN = [11, 4, 7, 1, 9], [5, 5, 5]
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


def build(
    kind: Any, settings: Any, adapters: bool = False, kept: list[str] | None = None, p: float = 0.0
) -> Any:
    torch.manual_seed(0)
    drops = {"hidden_dropout_prob": p, "attention_probs_dropout_prob": p}
    network = kind(settings(**SIZE, **drops, classifier_dropout=0.0))
    if adapters:
        lora = LoraConfig(
            r=3, lora_alpha=6, lora_dropout=p, target_modules="all-linear", modules_to_save=kept
        )
        network = get_peft_model(network, lora)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.3)
    return network.double().train()


def learnt(network: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    network.zero_grad()
    several = "Multiple" in type(getattr(network.base_model, "model", network)).__name__
    logits = network(**{name: rows[None] if several else rows for name, rows in inputs.items()}).logits
    (logits.square() * torch.arange(1, logits.numel() + 1).view(logits.shape).sin()).sum().backward()
    gradients = {name: part.grad for name, part in network.named_parameters() if part.grad is not None}
    return {"logits": logits.detach(), **{name: each.clone() for name, each in gradients.items()}}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each layer that was computed computed first tokens alone."""
    found: list[bool] = []
    usual = unpadded.compute

    def compute(*given: Any) -> Tensor:
        found.append(given[-1])
        return usual(*given)

    monkeypatch.setattr(unpadded, "compute", compute)
    return found


@pytest.mark.parametrize("lengths", [PADDED, EVEN, [1]])
@pytest.mark.parametrize("adapters", [False, True])
@pytest.mark.parametrize(("kind", "settings"), HEADS)
def test_logits_and_gradients_are_those_of_whole_rows(
    kind: Any, settings: Any, adapters: bool, lengths: list[int], asked: list[bool]
) -> None:
    network, inputs = build(kind, settings, adapters), batch(lengths)
    expected = learnt(network, inputs)
    hasten(network)
    found = learnt(network, inputs)
    release(network)
    assert asked == [False, True]
    assert found.keys() == expected.keys()
    largest = max(float(each.norm()) for each in expected.values())
    for name, one in expected.items():
        assert float((found[name] - one).norm()) <= 1e-9 * (float(one.norm()) + 0.01 * largest), name


@pytest.mark.parametrize("adapters", [False, True])
@pytest.mark.parametrize(("kind", "settings"), [HEADS[0], HEADS[4]])
def test_dropout_is_that_of_single_parts(kind: Any, settings: Any, adapters: bool, asked: list[bool]) -> None:
    """Where each text is one token, both drop from tensors of the same shapes."""
    network, inputs = build(kind, settings, adapters, p=0.2), batch([1] * 9)
    hasten(network)
    with noted() as places:
        found = learnt(network, inputs)
    for layer in layers(getattr(network.base_model, "model", network).base_model):
        del layer.forward
    with given(places):
        expected = learnt(network, inputs)
    release(network)
    assert asked == [False, True]
    for name, one in expected.items():
        torch.testing.assert_close(found[name], one, rtol=1e-9, atol=1e-9 * float(one.abs().max()), msg=name)


def test_a_pooler_that_is_trained_whole_beside_adapters_is_known(asked: list[bool]) -> None:
    network = build(BertForMultipleChoice, BertConfig, adapters=True, kept=["pooler", "classifier"])
    hasten(network)
    learnt(network, batch(PADDED))
    release(network)
    assert asked == [False, True]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(BertForTokenClassification, BertConfig), (RobertaForSequenceClassification, RobertaConfig)],
)
def test_other_heads_get_every_token(kind: Any, settings: Any, asked: list[bool]) -> None:
    network = build(kind, settings)
    hasten(network)
    learnt(network, batch(PADDED))
    release(network)
    assert asked == [False, False]


def test_rows_that_begin_with_padding_are_computed_whole(asked: list[bool]) -> None:
    network = build(BertForMultipleChoice, BertConfig)
    hasten(network)
    learnt(network, {name: rows.flip(1) for name, rows in batch(PADDED).items()})
    release(network)
    assert asked == [False, False]


def test_decorated_functions_are_told_apart_by_what_is_in_them() -> None:
    assert not alike(BertForMultipleChoice.forward, BertForTokenClassification.forward)
    assert alike(RobertaForMultipleChoice.forward, XLMRobertaForMultipleChoice.forward)
