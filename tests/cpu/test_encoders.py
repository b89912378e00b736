"""Layers as one step of autograd: what their parts compute one by one, if dropout takes the same places."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from figlang.cpu import adapted, dropout, encoders
from figlang.cpu.hasten import hasten, release
from tests.cpu.test_unpadded import READ as KINDS
from tests.cpu.test_unpadded import SIZE, batch

PADDED, EVEN, LONG = [11, 4, 7, 1, 9], [5, 5, 5], [21, 17, 3]
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


def build(
    kind: Any = BertModel,
    settings: Any = BertConfig,
    p: float = 0.1,
    dtype: torch.dtype = torch.float64,
    targets: Any = "all-linear",
    **more: Any,
) -> Any:
    """A network with adapters, or without `targets` one whose weights are all trained."""
    torch.manual_seed(0)
    drops = {"hidden_dropout_prob": p, "attention_probs_dropout_prob": p}
    network = kind(settings(**{**SIZE, **drops, **more}))
    if targets is None:
        for parameter in network.parameters():
            nn.init.normal_(parameter, std=0.3)
        return network.to(dtype).train()
    lora = LoraConfig(r=3, lora_alpha=6, lora_dropout=p, target_modules=targets)
    learner: Any = get_peft_model(network, lora)
    for name, parameter in learner.named_parameters():
        if "lora_B" in name:  # zeros at the beginning, which would hide half of the gradients
            nn.init.normal_(parameter, std=0.3)
    return learner.to(dtype).train()


def learnt(
    network: Any, inputs: dict[str, Tensor], rounded: bool = False
) -> tuple[Tensor, dict[str, Tensor]]:
    """States of tokens, and the gradients of trained weights by a loss that weighs them differently."""
    torch.manual_seed(1)
    network.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
        states = network(**inputs)[0] * inputs["attention_mask"][..., None]
    if states.requires_grad:
        (states.square() * torch.arange(1, states.numel() + 1).view(states.shape).sin()).sum().backward()
    return states.detach(), {
        name: part.grad.clone() for name, part in network.named_parameters() if part.grad is not None
    }


def layers(network: Any) -> list[Any]:
    return list(getattr(network.base_model, "model", network).encoder.layer)


def whole(network: Any) -> int:
    """How many layers are one step."""
    return sum("forward" in vars(layer) for layer in layers(network))


@contextmanager
def noted() -> Iterator[list[Tensor]]:
    """While the block runs, the places that are dropped, in the order of single parts."""
    found: list[Tensor] = []
    alone, together = dropout.places, encoders.places_of

    def one(count: int, p: float) -> Tensor:
        found.append(alone(count, p).clone())
        return found[-1]

    def layer(tensors: Any) -> Any:
        with patch.object(dropout, "places", alone):
            drawn = together(tensors)
        query, key, value, output, up, down, first, second, attended = drawn
        order = (query, key, value, attended, output, first, up, down, second)
        found.extend(each.clone() for each in order if each is not None)
        return drawn

    with (
        patch.object(dropout, "places", one),
        patch.object(adapted, "places", one),
        patch.object(encoders, "places_of", layer),
    ):
        yield found


@contextmanager
def given(found: list[Tensor]) -> Iterator[None]:
    """While the block runs, single parts drop these places, one tensor after another."""
    rest = iter(found)

    def take(count: int, p: float) -> Tensor:
        at = next(rest)
        assert len(at) == pytest.approx(count * p, abs=6 * (count * p) ** 0.5 + 1)
        return at

    with patch.object(dropout, "places", take), patch.object(adapted, "places", take):
        yield
    assert next(rest, None) is None


def check_equal(network: Any, inputs: dict[str, Tensor], error: float, rounded: bool = False) -> None:
    hasten(network)
    try:
        assert whole(network) == 2
        with noted() as places:
            states, gradients = learnt(network, inputs, rounded)
        for layer in layers(network):
            del layer.forward
        with given(places):
            expected, ones = learnt(network, inputs, rounded)
    finally:
        release(network)
    largest = float(expected.abs().max())
    torch.testing.assert_close(states, expected, rtol=error, atol=error * largest)
    assert gradients.keys() == ones.keys()
    # The gradient of a key's bias is zero, since it moves all scores of a row alike: rounding is all it has.
    largest = max(float(one.norm()) for one in ones.values())
    for name, one in ones.items():
        assert float((gradients[name] - one).norm()) <= error * (float(one.norm()) + 0.01 * largest), name


WEIGHTS = pytest.mark.parametrize("targets", ["all-linear", None], ids=["adapters", "all weights"])


@WEIGHTS
@pytest.mark.parametrize("lengths", [PADDED, EVEN, LONG, [1]])
@pytest.mark.parametrize("p", [0.0, 0.1])
@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_states_and_gradients_are_those_of_single_parts(
    kind: Any, settings: Any, p: float, lengths: list[int], targets: str | None
) -> None:
    check_equal(build(kind, settings, p, targets=targets), batch(lengths), 1e-9)


@WEIGHTS
@pytest.mark.parametrize(("kind", "settings"), [KINDS[0], KINDS[3]])
@pytest.mark.parametrize(("rounded", "error"), [(False, 1e-4), (True, 0.1)])  # bf16 has eight bits
def test_the_same_in_float32_and_bf16(
    kind: Any, settings: Any, rounded: bool, error: float, targets: str | None
) -> None:
    check_equal(build(kind, settings, dtype=torch.float32, targets=targets), batch(PADDED), error, rounded)


@WEIGHTS
def test_gradients_are_those_of_differences(targets: str | None) -> None:
    network, inputs = build(p=0.0, targets=targets), batch(PADDED)
    hasten(network)
    _, gradients = learnt(network, inputs)
    weights = dict(network.named_parameters())

    def loss() -> float:
        states = network(**inputs)[0].detach() * inputs["attention_mask"][..., None]
        return float((states.square() * torch.arange(1, states.numel() + 1).view(states.shape).sin()).sum())

    largest = max(float(gradient.abs().max()) for gradient in gradients.values())
    for name, gradient in gradients.items():
        at = int(gradient.abs().argmax())
        sides = []
        for step in (1e-3, -2e-3):
            weights[name].data.view(-1)[at] += step
            sides.append(loss())
        weights[name].data.view(-1)[at] += 1e-3
        # The step is finite.
        expected = pytest.approx(float(gradient.view(-1)[at]), rel=0.02, abs=1e-3 * largest)
        assert (sides[0] - sides[1]) / 2e-3 == expected, name
    release(network)


@pytest.mark.parametrize(
    "more",
    [
        {"hidden_act": "relu"},
        {"chunk_size_feed_forward": 2},
        {"attn_implementation": "eager"},
    ],
)
def test_other_layers_are_left_alone(more: dict[str, Any]) -> None:
    network = build(**more)
    hasten(network)
    assert not whole(network)
    release(network)


def test_layers_whose_parts_have_hooks_or_are_trained_without_their_bias_are_left_alone() -> None:
    network = build(targets=None)
    layers(network)[0].output.dense.bias.requires_grad_(False)
    layers(network)[1].intermediate.register_forward_hook(lambda *_: None)
    hasten(network)
    assert not whole(network)
    release(network)


def test_adapters_in_some_linear_layers_and_norms_that_are_trained() -> None:
    network = build(targets=["query", "value", "intermediate.dense"])
    layers(network)[0].output.LayerNorm.weight.requires_grad_(True)
    layers(network)[1].attention.output.LayerNorm.requires_grad_(True)
    check_equal(network, batch(PADDED), 1e-9)


def test_layers_that_are_trained_in_part_or_not_at_all() -> None:
    network, inputs = build(targets=None), batch(PADDED)
    network.embeddings.requires_grad_(False)
    layers(network)[0].requires_grad_(False)
    layers(network)[1].output.dense.requires_grad_(False)
    check_equal(network, inputs, 1e-9)
    found = learnt(network, inputs)[1]
    assert not any(name.startswith(("encoder.layer.0.", "encoder.layer.1.output.dense")) for name in found)


def test_evaluation_and_switched_off_adapters_compute_as_before() -> None:
    network, inputs = build(), batch(PADDED)
    expected = [learnt(network.eval(), inputs)[0]]
    with network.disable_adapter():
        expected.append(learnt(network, inputs)[0])
    hasten(network)
    states = [learnt(network, inputs)[0]]
    with network.disable_adapter():
        states.append(learnt(network, inputs)[0])
    release(network)
    for ours, plain in zip(states, expected, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-6, atol=1e-6)


def test_states_of_every_layer_are_given_if_they_are_asked_for() -> None:
    network, inputs = build(p=0.0), batch(PADDED)
    expected = network(**inputs, output_hidden_states=True).hidden_states
    hasten(network)
    states = network(**inputs, output_hidden_states=True).hidden_states
    release(network)
    assert len(states) == len(expected) == 3
    for ours, plain in zip(states, expected, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_what_was_put_in_is_taken_out(kind: Any, settings: Any) -> None:
    network = build(kind, settings)
    before = {name: set(vars(part)) for name, part in network.named_modules()}
    hasten(network)
    learnt(network, batch(PADDED))
    release(network)
    assert {name: set(vars(part)) for name, part in network.named_modules()} == before
