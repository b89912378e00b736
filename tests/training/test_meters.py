"""The meter of a processor, counted by hand on a small network."""

import torch
from torch import nn

from figlang.training.meters import Gpu, Processor, meter


def test_the_peak_is_that_counted_by_hand() -> None:
    network = nn.Sequential(nn.Linear(100, 1000, bias=False), nn.Tanh(), nn.Linear(1000, 10, bias=False))
    inputs = torch.randn(50, 100)
    forward, whole = Processor().step(network, lambda: network(inputs).sum())
    hidden = 4 * 50 * 1000
    assert forward == 2 * hidden  # before and after tanh; what is before it goes when tanh is done
    assert hidden <= whole <= 4 * hidden
    assert all(parameter.grad is None for parameter in network.parameters())
    assert Processor().reading(network, lambda: network(inputs)) == 2 * hidden


def test_this_process_takes_some_memory() -> None:
    assert 2**24 < Processor().held() < 2**37


def test_a_device_has_the_meter_of_its_kind() -> None:
    assert isinstance(meter(torch.device("cpu")), Processor)
    assert isinstance(meter(torch.device("cuda", 0)), Gpu)
    assert meter(torch.device("meta")) is None
