"""The pull towards the weights of the beginning: its gradient, and what it holds back."""

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from torch import Tensor, nn

from figlang.config import MethodConfig
from figlang.training.near_start import callbacks
from tests.running import train
from tests.sampled import sampled

STRENGTH = 0.3


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 5), nn.Linear(5, 4), nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        return cast(Tensor, self.head(self.second(self.first(inputs).tanh())))


def small(adapted: bool, began: bool = False) -> nn.Module:
    """A network; with `began`, its adapters have an effect before the training."""
    torch.manual_seed(0)
    network: nn.Module = Small().double()
    if adapted:
        kept = LoraConfig(
            r=2,
            lora_alpha=6,
            target_modules=["first", "second"],
            modules_to_save=["head"],
            init_lora_weights=not began,
        )
        network = get_peft_model(cast(Any, network), kept).double()
    return network


def moved(network: nn.Module) -> None:
    """Change all trained weights, and give each a gradient."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.requires_grad:
                weight += torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
                weight.grad = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)


def whole(network: nn.Module) -> dict[str, Tensor]:
    """All weights of the network that the adapters make, in terms of their matrices."""
    if not isinstance(network, PeftModel):
        return dict(network.named_parameters())
    effects: dict[str, Tensor] = {}
    for name, layer in cast(Any, network).named_modules():
        if hasattr(layer, "lora_A"):
            matrices = layer.lora_B["default"].weight @ layer.lora_A["default"].weight
            effects[name] = layer.base_layer.weight + layer.scaling["default"] * matrices
    others = {name: each for name, each in network.named_parameters() if "modules_to_save" in name}
    return effects | others


def pulled(network: nn.Module, callback: Any) -> None:
    callback.on_train_start(None, SimpleNamespace(device=torch.device("cpu")))
    callback.on_before_optimizer_step(None, None, None)


@pytest.mark.parametrize(("adapted", "began"), [(False, False), (True, False), (True, True)])
def test_the_gradient_is_that_of_the_squared_distance_of_all_weights(adapted: bool, began: bool) -> None:
    network = small(adapted, began)
    start = {name: weight.detach().clone() for name, weight in whole(network).items()}
    (callback,) = callbacks(MethodConfig(l2_sp=STRENGTH), network)
    moved(network)
    expected = copy.deepcopy(network)  # with the same weights and gradients
    for one, other in zip(network.parameters(), expected.parameters(), strict=True):
        other.grad = None if one.grad is None else one.grad.clone()
    distance = sum(((weight - start[name]) ** 2).sum() for name, weight in whole(expected).items())
    assert isinstance(distance, Tensor)
    (STRENGTH * distance).backward()
    pulled(network, callback)
    trained = [weight.requires_grad for weight in network.parameters()]
    assert any(trained)
    for weight, other in zip(network.parameters(), expected.parameters(), strict=True):
        assert (weight.grad is None) == (other.grad is None)
        if weight.grad is not None and other.grad is not None:
            torch.testing.assert_close(weight.grad, other.grad)


@pytest.mark.parametrize(("adapted", "began"), [(False, False), (True, False), (True, True)])
def test_nothing_pulls_at_the_beginning(adapted: bool, began: bool) -> None:
    network = small(adapted, began)
    (callback,) = callbacks(MethodConfig(l2_sp=STRENGTH), network)
    for weight in network.parameters():
        weight.grad = torch.zeros_like(weight) if weight.requires_grad else None
    pulled(network, callback)
    # The terms of the two products may be summed in different orders.
    assert all(
        float(weight.grad.abs().max()) < 1e-12 for weight in network.parameters() if weight.grad is not None
    )


def test_a_weight_of_zero_is_nothing_at_all() -> None:
    assert callbacks(MethodConfig(), small(False)) == []


def test_weights_that_had_no_part_in_the_loss_stay() -> None:
    network = small(True)
    (callback,) = callbacks(MethodConfig(l2_sp=STRENGTH), network)
    pulled(network, callback)
    assert all(weight.grad is None for weight in network.parameters())


@pytest.mark.parametrize("adapters", sampled([[], ["peft=lora", "peft.r=4"]], []))
def test_a_training_ends_nearer_to_where_it_began(tmp_path: Path, adapters: list[str]) -> None:
    common = ["data.limit=16", "method.epochs=3", "method.batch_size=4", "method.format=dual", *adapters]
    if adapters:
        common.append("peft.merge=true")

    def ended(name: str, *more: str) -> dict[str, Tensor]:
        result = train(tmp_path, f"run=runs/{name}/seed0", *common, *more)
        assert result.returncode == 0, result.stderr
        return load_file(tmp_path / "runs" / name / "seed0" / "model" / "model.safetensors")

    start = ended("still", "method.lr=1e-30")
    far, near = ended("far"), ended("near", "method.l2_sp=10")

    def distance(weights: dict[str, Tensor]) -> float:
        return float(sum(((weights[name] - start[name]).double() ** 2).sum() for name in start))

    assert distance(near) < 0.5 * distance(far)


@pytest.mark.parametrize("kind", ["dora", "ia3"])
def test_adapters_with_another_effect_are_refused(tmp_path: Path, kind: str) -> None:
    result = train(tmp_path, "run=runs/no/seed0", f"peft={kind}", "method.l2_sp=0.1")
    assert result.returncode != 0
    assert f"peft={kind} has another effect" in result.stderr
