"""R-Drop reads items twice: it is refused where both readings are equal."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from figlang.config import MethodConfig, ModelConfig, PeftConfig
from figlang.training.cross_entropy import CrossEntropyModule, divergence, drops
from tests.models.trained import trained
from tests.running import train


class Attention(nn.Module):
    """Dropout by a function, as the attention of transformers has it."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.attention_dropout = share


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.1)), True),
        (nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.0)), False),
        (nn.Sequential(Attention(0.1)), True),
        (nn.Sequential(Attention(0.0), nn.Threshold(0.1, 20)), False),
    ],
)
def test_dropout_is_a_layer_or_a_number(network: nn.Module, expected: bool) -> None:
    assert drops(network) == expected


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_dropout_of_adapters_counts(share: float) -> None:
    model = ModelConfig(init="tiny", architecture="llama", family="causal")
    adapted, _, _ = trained(model, "causal", PeftConfig(name="lora", dropout=share))
    assert drops(adapted) == bool(share)


def test_a_network_without_dropout_is_not_read_twice(tmp_path: Path) -> None:
    ended = train(tmp_path, "model=smollm2", "method.r_drop=1", "run=a")
    assert ended.returncode == 2
    last = ended.stderr.splitlines()[-1]
    assert last == "error: smollm2-tiny has no dropout, so method.r_drop=1 changes nothing; leave it out"
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("training", [True, False])
def test_two_readings_count_half_each_and_their_divergence_by_its_weight(training: bool) -> None:
    gold, readings = torch.tensor([0, 2, 1, 1]), torch.randn(2, 4, 3)
    left = iter(readings)
    method = MethodConfig(format="pair", r_drop=3.0)
    module = CrossEntropyModule(nn.Linear(1, 1), method, lambda *_: next(left), 1, 0).train(training)
    found = module.loss(SimpleNamespace(gold=gold, teacher=None))
    one, other = (cross_entropy(scores, gold) for scores in readings)
    twice = (one + other) / 2 + 3 * divergence(*readings)
    torch.testing.assert_close(found["loss"], twice if training else one)
    assert len([*left]) == (0 if training else 1)
    assert int(found["correct"]) == int((readings[0].argmax(1) == gold).sum())
