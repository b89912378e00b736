"""Encoders that read no padding: the states and gradients of padded rows, whatever the lengths."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMultipleChoice,
    BertModel,
    DebertaV2Config,
    DebertaV2Model,
    ElectraConfig,
    ElectraModel,
    MPNetConfig,
    MPNetForMultipleChoice,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from figlang.cpu import unpadded
from figlang.cpu.hasten import hasten, release

SIZE: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
}
READ = [
    (BertModel, BertConfig),
    (RobertaModel, RobertaConfig),
    (ElectraModel, ElectraConfig),
    (MPNetModel, MPNetConfig),
]
LENGTHS = [[11, 4, 7, 1, 9], [5, 5, 5], [3]]


def build(kind: Any, settings: Any) -> Any:
    torch.manual_seed(0)
    return kind(settings(**SIZE)).double().eval()


def batch(lengths: list[int]) -> dict[str, Tensor]:
    width = max(lengths)
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 99, mask.shape, generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids * mask + (1 - mask), "attention_mask": mask}


def learnt(network: Any, inputs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """States of the tokens, and the gradient of each weight by a loss that weighs them differently."""
    network.zero_grad()
    states = network(**inputs)[0]
    if states.dim() == 3:
        states = states * inputs["attention_mask"][..., None]
    (states.square() * torch.arange(1, states.numel() + 1).view(states.shape).sin()).sum().backward()
    grown = {name: part.grad.clone() for name, part in network.named_parameters() if part.grad is not None}
    return states.detach(), grown


def check_equal(network: Any, inputs: dict[str, Tensor]) -> None:
    expected, gradients = learnt(network, inputs)
    hasten(network)
    try:
        states, grown = learnt(network, inputs)
    finally:
        release(network)
    torch.testing.assert_close(states, expected, rtol=1e-9, atol=1e-9)
    assert grown.keys() == gradients.keys()
    largest = max(float(gradient.abs().max()) for gradient in gradients.values())
    for name, gradient in gradients.items():
        torch.testing.assert_close(grown[name], gradient, rtol=1e-9, atol=1e-9 * largest, msg=name)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("kind", "settings"), READ)
def test_states_and_gradients_are_those_of_padded_rows(kind: Any, settings: Any, lengths: list[int]) -> None:
    check_equal(build(kind, settings), batch(lengths))


@pytest.mark.parametrize(
    ("kind", "settings"), [(BertForMultipleChoice, BertConfig), (MPNetForMultipleChoice, MPNetConfig)]
)
def test_heads_see_padded_rows(kind: Any, settings: Any) -> None:
    check_equal(build(kind, settings), {name: rows[None] for name, rows in batch(LENGTHS[0]).items()})


@pytest.mark.parametrize(("kind", "settings"), READ)
def test_layers_see_only_tokens(kind: Any, settings: Any) -> None:
    network, seen = build(kind, settings), []
    layer = network.encoder.layer[0].output.dense
    layer.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[:-1].numel()))
    hasten(network)
    network(**batch(LENGTHS[0]))
    release(network)
    network(**batch(LENGTHS[0]))
    assert seen == [sum(LENGTHS[0]), 55]


def test_other_architectures_are_left_alone() -> None:
    network = build(DebertaV2Model, DebertaV2Config)
    before = set(vars(network))
    unpadded.unpad(network)
    assert set(vars(network)) == before
    assert not any("forward" in vars(part) for part in network.modules())


@pytest.mark.parametrize(("kind", "settings"), READ)
def test_what_was_put_in_is_taken_out(kind: Any, settings: Any) -> None:
    network = build(kind, settings)
    before = {name: set(vars(part)) for name, part in network.named_modules()}
    hasten(network)
    release(network)
    assert {name: set(vars(part)) for name, part in network.named_modules()} == before


def test_with_dropout_the_mean_of_many_draws_is_that_of_padded_rows() -> None:
    torch.manual_seed(0)
    network = BertModel(BertConfig(**SIZE)).train()
    inputs = batch([6, 2, 4])
    inputs = {name: rows.repeat(400, 1) for name, rows in inputs.items()}

    def mean() -> tuple[Tensor, Tensor]:
        states = (network(**inputs)[0] * inputs["attention_mask"][..., None]).detach().view(400, 3, 6, 32)
        return states.mean(0), states.std(0) / 400**0.5

    expected, error = mean()
    hasten(network)
    found, other = mean()
    release(network)
    deviations = (found - expected).abs() / (error.square() + other.square()).sqrt().clamp(min=1e-6)
    real = inputs["attention_mask"][:3].bool()
    # 384 states of tokens: the largest of so many normal deviations is about 3.
    assert float(deviations[real].max()) < 5


@pytest.mark.parametrize(("kind", "settings"), READ)
def test_states_of_every_layer_are_those_of_padded_rows(kind: Any, settings: Any) -> None:
    network, inputs = build(kind, settings), batch(LENGTHS[0])
    expected = network(**inputs, output_hidden_states=True).hidden_states
    hasten(network)
    found = network(**inputs, output_hidden_states=True).hidden_states
    release(network)
    assert len(found) == len(expected) == 3
    mask = inputs["attention_mask"][..., None]
    for states, one in zip(found, expected, strict=True):
        torch.testing.assert_close(states * mask, one * mask, rtol=1e-6, atol=1e-6)
