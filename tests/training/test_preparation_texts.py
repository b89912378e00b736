"""Adapters that begin with texts of the training are prepared by the settings of a command."""

from typing import Any

import pytest
import torch
from peft.tuners.lora import LoraLayer

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.tasks.registry import for_training
from figlang.training.preparation import Prepared, prepare

CAUSAL = ["model=smollm2"]
WAYS = {
    "pair": ["model=bert_base"],
    "dual": ["model=minilm", "method.format=dual"],
    "causal": CAUSAL,
    "both directions": [*CAUSAL, "method.direction=both"],
    "language model": [*CAUSAL, "method=lm"],
}


def prepared(*words: str) -> Prepared:
    torch.manual_seed(0)
    fixed = ["debug=fast", "data=figqa_sample", "peft=lora", "peft.r=4"]
    config: Any = compose("train", TrainConfig, [*fixed, *words])
    return prepare(config, *for_training(config.data, config.paths))


@pytest.mark.parametrize("way", WAYS)
def test_eva_begins_with_orthogonal_directions_and_changes_nothing(way: str) -> None:
    adapted = prepared(*WAYS[way], "peft.init=eva").network
    layers = [module for module in adapted.modules() if isinstance(module, LoraLayer)]
    assert layers
    for layer in layers:
        first_RI = layer.lora_A["default"].weight.detach()
        torch.testing.assert_close(first_RI @ first_RI.T, torch.eye(len(first_RI)))
        assert not layer.lora_B["default"].weight.any()


def test_corda_takes_its_part_out_of_the_weights() -> None:
    plain = prepared(*CAUSAL).network.get_base_model().state_dict()
    adapted = prepared(*CAUSAL, "peft.init=corda").network
    layers = {name: module for name, module in adapted.named_modules() if isinstance(module, LoraLayer)}
    assert layers
    for name, layer in layers.items():
        was = plain[f"{name.removeprefix('base_model.model.')}.base_layer.weight"]
        now = layer.get_base_layer().weight
        assert not torch.equal(now, was)
        torch.testing.assert_close(now + layer.get_delta_weight("default"), was)
