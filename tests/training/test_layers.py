"""Learning rates by depth, and what a training takes of the machine."""

from mmap import PAGESIZE, mmap

import pytest
import torch
from torch import nn

from figlang.config import MethodConfig, ModelConfig
from figlang.errors import FiglangError
from figlang.models import networks
from figlang.scoring.head import scorer
from figlang.training import throughput
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.layers import groups


@pytest.mark.parametrize("architecture", ["bert", "deberta-v2", "modernbert", "gpt2", "llama"])
def test_rates_fall_from_layer_to_layer(architecture: str) -> None:
    model = ModelConfig(
        init="tiny",
        architecture=architecture,
        family="causal" if architecture in ("gpt2", "llama") else "encoder",
    )
    texts = ["The room was an oven."]
    network = (
        networks.causal(model, "", texts)[0]
        if model.family == "causal"
        else networks.build(model, "pair", texts, 2)[0]
    )
    found = groups(network.named_parameters(), 1e-3, 0.5)
    assert sum(len(group["params"]) for group in found) == len(list(network.parameters()))
    depths = network.config.num_hidden_layers + 1
    assert [group["lr"] for group in found] == [1e-3 * 0.5**depth for depth in range(depths)]
    embedding = network.get_input_embeddings().weight
    assert any(weight is embedding for weight in found[-1]["params"])


def test_the_optimizer_has_the_rates_and_clips_all_groups() -> None:
    network, _ = networks.build(ModelConfig(init="tiny"), "pair", ["The room was an oven."], 2)
    module = CrossEntropyModule(network, MethodConfig(lr=1e-3, layer_decay=0.5), scorer("pair", 1.0), 10, 0)
    optimizer = module.configure_optimizers()["optimizer"]
    assert optimizer.param_groups[0]["initial_lr"] == 1e-3
    assert optimizer.param_groups[-1]["initial_lr"] < 1e-3
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    module.configure_gradient_clipping(optimizer)
    assert float(
        nn.utils.get_total_norm([parameter.grad for parameter in network.parameters()])
    ) == pytest.approx(1.0, rel=1e-3)
    plain = CrossEntropyModule(
        network, MethodConfig(lr=1e-3), scorer("pair", 1.0), 10, 0
    ).configure_optimizers()["optimizer"]
    assert len(plain.param_groups) == 1


@pytest.mark.parametrize("decay", [0.0, 1.1, -0.5])
def test_an_impossible_decay_is_refused(decay: float) -> None:
    with pytest.raises(FiglangError, match="must be above 0 and at most 1"):
        MethodConfig(layer_decay=decay)


def test_a_network_without_layers_is_refused() -> None:
    with pytest.raises(FiglangError, match="needs numbered layers"):
        groups(nn.Linear(2, 2).named_parameters(), 1e-3, 0.5)


def test_work_counts_six_for_a_trained_weight_four_for_a_frozen_one_and_no_embedding() -> None:
    network = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 4, bias=False), nn.Linear(4, 2, bias=False))
    network[1].requires_grad_(False)
    assert throughput.work(network, 3) == 3 * (4 * 16 + 6 * 8)


def test_the_rate_of_products_is_that_of_the_fastest_size_in_its_median_run() -> None:
    # The first run of a size warms up. Of the others, one is slow.
    seconds = iter([9.0, 0.5, 9.0, 0.5, 9.0, 4.0, 4.0, 4.0])
    now = 0.0
    started = False

    def clock() -> float:
        nonlocal now, started
        now += next(seconds) if started else 0.0
        started = not started
        return now

    rate = throughput.product_rate(torch.float32, [64, 96], repeats=3, kinds=[nn.Linear], clock=clock)
    assert rate == pytest.approx(2 * 64**3 / 0.5)


def test_the_peak_of_memory_is_that_since_it_was_forgotten() -> None:
    """Several runs in one process: each has its own peak, not the largest of all so far."""
    # Not malloc's, which may keep what is freed once a test before has trained.
    with mmap(-1, 300 * 2**20) as large:
        large[::PAGESIZE] = b"x" * (len(large) // PAGESIZE)
        before = throughput.peak_memory()
    if not throughput.forget_peak():
        pytest.skip("this system keeps the peak for the whole process")
    assert throughput.peak_memory() < before - 200
