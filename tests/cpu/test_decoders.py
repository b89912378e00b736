"""Layers of decoders as one step of autograd: what their parts compute one by one, with the same dropout."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from transformers import (
    GemmaConfig,
    GemmaModel,
    LlamaConfig,
    LlamaModel,
    MistralConfig,
    MistralModel,
    PreTrainedModel,
    Qwen2Config,
    Qwen2Model,
    Qwen3Config,
    Qwen3Model,
)

from figlang.cpu.hasten import hasten, release

SIZE: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "attn_implementation": "sdpa",
}
FAMILIES = [(LlamaModel, LlamaConfig), (MistralModel, MistralConfig), (Qwen2Model, Qwen2Config)]
# Which weights are trained: those of adapters in all or some linear layers, all weights, or norms alone.
TRAINED = ["all-linear", "some", "all", "norms"]
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


def build(
    kind: Any = LlamaModel,
    settings: Any = LlamaConfig,
    trained: str = "all-linear",
    p: float = 0.1,
    dtype: torch.dtype = torch.float64,
    **more: Any,
) -> Any:
    torch.manual_seed(0)
    network = kind(settings(**{**SIZE, **more}))
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.3)
    if trained in ("all-linear", "some"):
        targets: Any = ["q_proj", "v_proj", "up_proj"] if trained == "some" else trained
        lora = LoraConfig(r=3, lora_alpha=6, lora_dropout=p, target_modules=targets)
        network = get_peft_model(network, lora)
        for name, parameter in network.named_parameters():
            if "lora_B" in name:  # zeros at the beginning, which would hide half of the gradients
                nn.init.normal_(parameter, std=0.3)
    elif trained == "norms":
        for name, parameter in network.named_parameters():
            parameter.requires_grad_("norm" in name)
    return network.to(dtype).train()


def batch(mask: str = "tree", rows: int = 3, length: int = 9) -> dict[str, Any]:
    ids = torch.randint(0, 99, (rows, length), generator=torch.Generator().manual_seed(0))
    if mask == "tree":  # some tokens do not see some earlier ones
        seen = torch.ones(length, length).tril().bool().repeat(rows, 1, 1)
        seen[1, -2:, 1:3] = False
        positions = torch.arange(length).repeat(rows, 1)
        positions[1, -2:] -= 2
        hidden = torch.zeros(seen.shape).masked_fill_(~seen, -(2.0**15))[:, None]
        return {"input_ids": ids, "attention_mask": hidden, "position_ids": positions}
    if mask == "padded":
        lengths = torch.tensor([length, 3, length - 1])[:rows]
        return {"input_ids": ids, "attention_mask": (torch.arange(length) < lengths[:, None]).long()}
    return {"input_ids": ids}


def layers(network: Any) -> list[Any]:
    return list(getattr(network.base_model, "model", network).layers)


def whole(network: Any) -> int:
    """How many layers are one step."""
    return sum("forward" in vars(layer) for layer in layers(network))


def learnt(network: Any, inputs: dict[str, Any], rounded: bool = False) -> tuple[Tensor, dict[str, Tensor]]:
    """States, and the gradients of trained weights by a loss that weighs states differently."""
    torch.manual_seed(1)
    network.zero_grad()
    mask = inputs.get("attention_mask")
    if mask is not None and mask.is_floating_point():
        inputs = inputs | {"attention_mask": mask.to(network.dtype)}
    with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
        states = network(**inputs, use_cache=False).last_hidden_state
    if mask is not None and mask.dim() == 2:
        states = states * mask[..., None]
    (states.square() * torch.arange(1, states.numel() + 1).view(states.shape).sin()).sum().backward()
    return states.detach(), {
        name: part.grad.clone() for name, part in network.named_parameters() if part.grad is not None
    }


@contextmanager
def exact(network: Any) -> Iterator[None]:
    """While the block runs, norms compute in their own precision in place of float32."""

    def normed(norm: Any, states: Tensor) -> Tensor:
        squares = states.square().mean(-1, keepdim=True)
        return norm.weight * states * torch.rsqrt(squares + norm.variance_epsilon)  # type: ignore[no-any-return]

    kinds = {type(part) for part in network.modules() if type(part).__name__.endswith("RMSNorm")}
    assert len(kinds) == 1
    with patch.object(kinds.pop(), "forward", normed):
        yield


def check_equal(network: Any, inputs: dict[str, Any], error: float, rounded: bool = False) -> None:
    hasten(network)
    try:
        assert whole(network) == 2
        if network.dtype == torch.float64:
            with exact(network):
                states, gradients = learnt(network, inputs)
                apart(network)
                expected, ones = learnt(network, inputs)
        else:
            states, gradients = learnt(network, inputs, rounded)
            apart(network)
            expected, ones = learnt(network, inputs, rounded)
    finally:
        release(network)
    torch.testing.assert_close(states, expected, rtol=error, atol=error * float(expected.abs().max()))
    assert gradients.keys() == ones.keys()
    # The gradient of a key's bias is zero but for rounding, since it moves all scores of a row alike.
    largest = max(float(one.norm()) for one in ones.values())
    for name, one in ones.items():
        assert float((gradients[name] - one).norm()) <= error * (float(one.norm()) + 0.01 * largest), name


def apart(network: Any) -> None:
    """Let layers compute their parts one by one, which stay the faster ones."""
    for layer in layers(network):
        del layer.forward


@pytest.mark.parametrize("trained", TRAINED)
@pytest.mark.parametrize("length", [9, 21])  # rows of scores that are lengthened, and others
@pytest.mark.parametrize("mask", ["tree", "padded", "none"])
def test_states_and_gradients_are_those_of_single_parts(trained: str, length: int, mask: str) -> None:
    check_equal(build(trained=trained), batch(mask, length=length), 1e-10)


@pytest.mark.parametrize("without", [["q_proj", "gate_proj"], ["v_proj", "up_proj", "down_proj"]])
def test_an_input_that_a_layer_without_dropout_keeps_is_not_overwritten(without: list[str]) -> None:
    network = build()
    for name, part in network.named_modules():
        if type(part) is nn.Dropout and any(each in name for each in without):
            part.p = 0.0
    check_equal(network, batch(), 1e-10)


@pytest.mark.parametrize("trained", ["all-linear", "all"])
@pytest.mark.parametrize(("kind", "settings"), FAMILIES)
@pytest.mark.parametrize("p", [0.0, 0.1])
def test_the_same_in_families_that_copied_llama(kind: Any, settings: Any, trained: str, p: float) -> None:
    check_equal(build(kind, settings, trained, p), batch("padded"), 1e-10)


def test_the_same_with_biases_a_window_and_other_numbers_of_heads() -> None:
    check_equal(build(attention_bias=True, mlp_bias=True), batch(), 1e-10)
    check_equal(build(MistralModel, MistralConfig, sliding_window=3), batch("padded"), 1e-10)
    check_equal(build(num_key_value_heads=4, head_dim=6), batch("none", 1, 1), 1e-10)
    # SmolLM2 has as many heads.
    check_equal(build(num_attention_heads=9, num_key_value_heads=3, hidden_size=36), batch(), 1e-10)


@pytest.mark.parametrize("trained", TRAINED)
@pytest.mark.parametrize(("rounded", "error"), [(False, 1e-4), (True, 0.1)])  # bf16 has eight bits
def test_the_same_in_float32_and_bf16(trained: str, rounded: bool, error: float) -> None:
    check_equal(build(trained=trained, dtype=torch.float32), batch(), error, rounded)


def test_a_layer_below_all_adapters_has_no_gradient() -> None:
    network = build(trained="some")
    for name, parameter in network.named_parameters():
        if "layers.0." in name:
            parameter.requires_grad_(False)
    check_equal(network, batch(), 1e-10)
    assert not any("layers.0." in name for name in learnt(network, batch())[1])


def test_the_losses_of_a_training_are_those_of_single_parts() -> None:
    def losses(fast: bool) -> list[float]:
        network, found = build(dtype=torch.float32), []
        optimizer = torch.optim.AdamW([part for part in network.parameters() if part.requires_grad], 1e-2)
        hasten(network)
        if not fast:
            apart(network)
        torch.manual_seed(2)
        for length in (9, 12, 7, 21, 9, 10):
            optimizer.zero_grad()
            loss = network(**batch(length=length), use_cache=False).last_hidden_state.square().mean()
            loss.backward()
            optimizer.step()
            found.append(float(loss.detach()))
        release(network)
        return found

    assert losses(True) == pytest.approx(losses(False), rel=1e-4)


@pytest.mark.parametrize(
    "more",
    [
        {"hidden_act": "gelu"},
        {"attention_dropout": 0.1},
        {"attn_implementation": "eager"},
        {"kind": GemmaModel, "settings": GemmaConfig, "head_dim": 8},
        {"kind": Qwen3Model, "settings": Qwen3Config, "head_dim": 8},
    ],
)
def test_other_layers_are_left_alone(more: dict[str, Any]) -> None:
    network = build(**more)
    hasten(network)
    assert not whole(network)
    release(network)


def test_layers_with_hooks_or_a_bias_that_is_trained_alone_are_left_alone() -> None:
    network = build(trained="all", mlp_bias=True)
    layers(network)[0].self_attn.register_forward_hook(lambda *_: None)
    layers(network)[1].mlp.up_proj.weight.requires_grad_(False)
    hasten(network)
    assert not whole(network)
    release(network)


def plain_calls(network: Any, **asked: Any) -> tuple[int, Any]:
    """How many layers compute their parts one by one in a call, and what the network gives."""
    called = []
    kind = type(layers(network)[0].self_attn)
    usual = kind.forward

    def counted(*inputs: Any, **named: Any) -> Any:
        called.append(1)
        return usual(*inputs, **named)

    with patch.object(kind, "forward", counted):
        given: dict[str, Any] = {"use_cache": False, **asked}
        output = network(**batch("padded"), **given)
    return len(called), output


def test_evaluation_caches_and_switched_off_adapters_take_the_usual_way() -> None:
    network = build(p=0.0, dtype=torch.float32)
    expected = network(**batch("padded")).last_hidden_state
    hasten(network)
    assert plain_calls(network)[0] == 0
    for count, output in (plain_calls(network, use_cache=True), plain_calls(network.eval())):
        assert count == 2
        torch.testing.assert_close(output.last_hidden_state, expected, rtol=1e-4, atol=1e-4)
    network.train()
    with torch.no_grad():
        assert plain_calls(network)[0] == 2
    with network.disable_adapter():
        count, output = plain_calls(network)
    assert count == 2
    assert not torch.allclose(output.last_hidden_state, expected, atol=0.01)
    network.base_model.model.activation_checkpointing_enable()
    assert plain_calls(network)[0] == 2
    release(network)


def test_states_and_attentions_of_every_layer_are_given_if_they_are_asked_for() -> None:
    network: PreTrainedModel = build(trained="all", dtype=torch.float32)
    expected = network(**batch(), output_hidden_states=True).hidden_states
    fresh: PreTrainedModel = build(trained="all", dtype=torch.float32)
    hasten(fresh)
    states = fresh(**batch(), output_hidden_states=True).hidden_states
    assert len(states) == len(expected) == 3
    for ours, plain in zip(states, expected, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
    assert plain_calls(fresh, output_attentions=True)[0] == 2
    release(fresh)


def test_what_was_put_in_is_taken_out() -> None:
    network = build()
    before = {name: set(vars(part)) for name, part in network.named_modules()}
    hasten(network)
    learnt(network, batch())
    release(network)
    assert {name: set(vars(part)) for name, part in network.named_modules()} == before
