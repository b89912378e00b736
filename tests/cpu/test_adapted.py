"""Adapters in one step of autograd: what PEFT computes, with the same draws of dropout."""

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from transformers import BertConfig, BertModel
from transformers.pytorch_utils import Conv1D

from figlang.cpu import adapted
from figlang.cpu.hasten import hasten, release


class Network(nn.Module):
    """Two layers with adapters; the states below the first one need no gradient."""

    def __init__(self, kind: Any = nn.Linear) -> None:
        super().__init__()
        self.first, self.second = kind(12, 20), kind(20, 7)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)))  # type: ignore[no-any-return]


def build(
    dtype: torch.dtype = torch.float64, dropout: float = 0.25, kind: Any = nn.Linear, **options: Any
) -> Any:
    torch.manual_seed(0)
    settings = LoraConfig(
        r=3, lora_alpha=6, lora_dropout=dropout, target_modules=["first", "second"], **options
    )
    network = get_peft_model(Network(kind), settings)  # type: ignore[arg-type]
    for name, parameter in network.named_parameters():
        if "lora_B" in name:  # zeros at the beginning, which would hide half of the gradients
            nn.init.normal_(parameter)
    return network.to(dtype).train()


def learnt(network: Any, rounded: bool = False) -> tuple[Tensor, dict[str, Tensor]]:
    torch.manual_seed(1)
    inputs = torch.randn(2, 5, 12, dtype=next(network.parameters()).dtype)
    network.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
        output = network(inputs)
    if output.requires_grad:
        output.double().square().sum().backward()
    return output.detach(), {
        name: part.grad.clone() for name, part in network.named_parameters() if part.grad is not None
    }


def count(network: Any) -> int:
    return sum("forward" in vars(part) for part in network.modules())


@pytest.mark.parametrize("dropout", [0.0, 0.25])
@pytest.mark.parametrize(
    ("dtype", "rounded", "error"),
    [
        (torch.float64, False, 1e-12),
        (torch.float32, False, 1e-5),
        (torch.float32, True, 0.05),  # bf16 has eight bits, and PEFT rounds the sum once more
    ],
)
def test_outputs_and_gradients_are_those_of_peft_by_the_same_draws(
    dtype: torch.dtype, rounded: bool, error: float, dropout: float
) -> None:
    network = build(dtype, dropout)
    hasten(network)
    assert count(network) == 2
    output, gradients = learnt(network, rounded)
    adapted.adapt_as_before(network)
    assert count(network) == 0
    expected, ones = learnt(network, rounded)
    release(network)
    assert output.dtype == expected.dtype
    assert gradients.keys() == ones.keys()
    assert {name.split(".")[-3] for name in ones} == {"lora_A", "lora_B"}
    scale = float(expected.abs().max())
    torch.testing.assert_close(output, expected, rtol=error, atol=error * scale)
    for name, gradient in gradients.items():
        torch.testing.assert_close(
            gradient, ones[name], rtol=error, atol=error * float(ones[name].abs().max())
        )


def test_evaluation_has_no_dropout() -> None:
    network = build().eval()
    expected = learnt(network)[0]
    hasten(network)
    assert torch.allclose(learnt(network)[0], expected, rtol=1e-12)
    release(network)


def test_switched_off_adapters_do_nothing() -> None:
    network = build()
    hasten(network)
    with network.disable_adapter():
        output = learnt(network)[0]
    release(network)
    with network.disable_adapter():
        assert torch.equal(output, learnt(network)[0])
    assert not torch.allclose(output, learnt(network)[0])


def test_weights_that_change_are_rounded_again() -> None:
    network = build(torch.float32, 0.0)
    hasten(network)
    before = learnt(network, rounded=True)[0]
    with torch.no_grad():
        network.base_model.model.second.base_layer.weight.mul_(2)
    assert not torch.allclose(learnt(network, rounded=True)[0], before)
    release(network)


@pytest.mark.parametrize("options", [{"use_dora": True}, {"kind": Conv1D, "fan_in_fan_out": True}])
def test_other_adapters_are_left_to_peft(options: dict[str, Any]) -> None:
    network = build(**options)
    adapted.adapt_faster(network)
    assert count(network) == 0


def test_layers_with_hooks_are_left_to_peft() -> None:
    network = build()
    network.base_model.model.first.base_layer.register_forward_hook(lambda *_: None)
    adapted.adapt_faster(network)
    assert count(network) == 1


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")  # PEFT's
def test_nothing_is_computed_backward_below_the_lowest_adapter() -> None:
    torch.manual_seed(0)
    plain = BertModel(BertConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=4, vocab_size=50))
    settings = LoraConfig(r=2, target_modules=["query"], layers_to_transform=[1, 2])
    network: Any = get_peft_model(plain, settings).train()
    hasten(network)
    needed: list[bool] = []
    for part in (plain.embeddings, *plain.encoder.layer):
        part.register_forward_hook(
            lambda _, __, output: needed.append(
                (output if isinstance(output, Tensor) else output[0]).requires_grad
            )
        )
    network(input_ids=torch.arange(12).view(2, 6), attention_mask=torch.ones(2, 6))
    release(network)
    assert needed == [False, False, True, True]
