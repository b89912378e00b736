"""R-Drop reads items twice: it is refused where both readings are equal."""

from pathlib import Path

import pytest
from torch import nn

from figlang.config import ModelConfig, PeftConfig
from figlang.training.cross_entropy import drops
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
