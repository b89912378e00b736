"""Adapters over 4 bits begin with the best that their rank can put back of what rounding took (LoftQ)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from peft.tuners.lora import LoraLayer
from torch import Tensor

from figlang.config import ModelConfig, PeftConfig, TrainConfig
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.models import calibrated, checkpoint, layout, lora, networks
from figlang.models.rounded import nearest
from figlang.tasks.registry import for_training
from figlang.training.preparation import Prepared, prepare
from tests import causal_models
from tests.models.trained import scores

SIZES = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16}


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (7, 7)])
@pytest.mark.parametrize("rank", [1, 3])
def test_no_product_of_the_rank_is_nearer(shape: tuple[int, int], rank: int) -> None:
    """By Eckart and Young, what is left has the other singular values."""
    torch.manual_seed(0)
    matrix = torch.randn(shape)
    left, right = nearest(matrix, rank)
    assert (left.shape, right.shape) == ((shape[0], rank), (rank, shape[1]))
    torch.testing.assert_close(left.norm(), right.norm())
    others = torch.linalg.svdvals(matrix)[rank:]
    torch.testing.assert_close(torch.linalg.svdvals(matrix - left @ right)[: len(others)], others)


def test_a_matrix_of_the_rank_is_found_and_nothing_of_zeros() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(6, 2) @ torch.randn(2, 8)
    left, right = nearest(matrix, 2)
    torch.testing.assert_close(left @ right, matrix)
    assert not any(part.any() for part in nearest(torch.zeros(4, 6), 2))


@pytest.fixture(params=["llama", "gpt2"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> ModelConfig:
    """A network in 4 bits. GPT-2 stores the weights of its layers the other way round."""
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    causal_models.network(request.param, **SIZES).save_pretrained(tmp_path / "base")
    causal_models.tokenizer().save_pretrained(tmp_path / "base")
    return ModelConfig(name="tiny", name_or_path=str(tmp_path / "base"), family="causal", quantization="4bit")


def _begun(base: ModelConfig, **more: Any) -> tuple[PeftModel, Any]:
    few, _ = networks.causal(base, "")
    layout.bear_gradients(few)
    exact, _ = networks.causal(replace(base, quantization="none"), "")
    settings = PeftConfig(name="qlora", init="loftq", **more)
    given = calibrated.Given(exact=lambda: exact)
    return lora.adapt(few, settings, [], base.name_or_path, None, given).eval(), exact


def _weight(network: Any, name: str) -> Tensor:
    layer = network.get_submodule(name)
    weight: Tensor = layer.weight.detach()
    return weight if isinstance(layer, torch.nn.Linear) else weight.T


def test_the_remainder_of_every_layer_is_the_smallest(base: ModelConfig) -> None:
    """With alpha / r = 8 / 4, and with another rank in some layers."""
    ends = "c_attn" if "gpt2" in str(networks.causal(base, "")[0].config.model_type) else "q_proj"
    adapted, exact = _begun(base, r=4, alpha=8, rank_pattern={ends: 2})
    rounded = networks.causal(base, "")[0].dequantize()
    layers = {
        name: layer
        for name, layer in adapted.get_base_model().named_modules()
        if isinstance(layer, LoraLayer)
    }
    assert layers
    for name, layer in layers.items():
        rank = 2 if name.endswith(ends) else 4
        lost = _weight(exact, name) - _weight(rounded, name)
        left = lost - layer.get_delta_weight("default").detach()
        best = torch.linalg.svdvals(lost)[rank:].norm()
        torch.testing.assert_close(left.norm(), best, rtol=1e-3, atol=1e-5)
        assert left.norm() < 0.97 * lost.norm(), name


def _prepared(base: ModelConfig, *words: str) -> Prepared:
    fixed = [
        *(
            "model=causal",
            f"model.name_or_path={base.name_or_path}",
            "model.init=pretrained",
            "model.bos=add",
        ),
        *("data=figqa_sample", "data.limit=8", "peft=qlora", "peft.init=loftq", "peft.r=4"),
    ]
    config: Any = compose("train", TrainConfig, [*fixed, *words])
    return prepare(config, *for_training(config.data, config.paths))


def test_a_folder_scores_as_the_network_with_which_training_began(base: ModelConfig, tmp_path: Path) -> None:
    """The export is for the network as anyone loads it in 4 bits, with the rank of the training."""
    ready = _prepared(base)
    before = scores(ready.network.eval(), ready.tokenizer, ready.manifest)
    checkpoint.export(ready.network, ready.tokenizer, ready.manifest, tmp_path / "model")
    loaded = checkpoint.load(str(tmp_path / "model"))
    assert layout.precision(loaded.network).endswith("+4bit")
    layout.bear_gradients(loaded.network)  # the same products as in the training, which round in other places
    assert scores(loaded.network, loaded.tokenizer, loaded.manifest) == pytest.approx(before, abs=1e-5)
    plain, _ = networks.causal(base, "")
    layout.bear_gradients(plain)
    assert scores(plain, loaded.tokenizer, loaded.manifest) != pytest.approx(before, abs=1e-5)
    written = json.loads((tmp_path / "model" / "adapter_config.json").read_text())
    assert (written["r"], written["init_lora_weights"]) == (4, True)


def test_the_anchor_is_the_network_with_which_training_begins(base: ModelConfig) -> None:
    ready = _prepared(base, "method.anchor=kl", "method.anchor_data=figqa_sample")
    assert ready.kind.keywords["remade"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "lora"}, "is for new adapters of peft=qlora; leave it out, or take peft=qlora"),
        ({"name": "qlora", "stack": "continue"}, "is for new adapters of peft=qlora"),
        ({"name": "none"}, "add peft=qlora"),
    ],
)
def test_it_is_for_new_adapters_over_four_bits(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        PeftConfig(**settings, init="loftq")


def test_a_tiny_network_keeps_all_its_bits_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """It needs no bitsandbytes, and LoftQ then has nothing to put back."""
    words = ["model=smollm2", "debug=fast", "data=figqa_sample", "peft=qlora", "peft.init=loftq"]
    config: Any = compose("train", TrainConfig, words)
    caplog.set_level("INFO", "figlang")
    ready = prepare(config, *for_training(config.data, config.paths))
    assert "model.quantization=4bit: a tiny network keeps all its bits" in caplog.text
    assert ready.manifest.base_precision == "float32"
    assert not any(weight.any() for name, weight in ready.network.named_parameters() if "lora_B" in name)
