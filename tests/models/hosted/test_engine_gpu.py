"""What a GPU computes is what a CPU computes, by every engine that is installed: `make test-gpu`.

Without a GPU the same lines run on the CPU, as far as they go.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from figlang.config import EvaluateConfig, ModelConfig, PeftConfig, SamplingConfig, TrainerConfig
from figlang.evaluation import generation, opening, runtime
from figlang.models import checkpoint, layout, networks
from tests import causal_models
from tests.models.hosted.test_engine import CHAT, scores
from tests.models.test_lora import trained

pytestmark = pytest.mark.gpu
DEVICE = runtime.device(TrainerConfig())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("network")
    # Heads of 64 numbers, which kernels of GPUs want.
    sizes = {"hidden_size": 256, "intermediate_size": 512, "head_dim": 64}
    causal_models.network("llama", **sizes).save_pretrained(place)
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(place)
    return place


def opened(folder: Path, **settings: Any) -> Any:
    given = {"name": "tiny", "family": "causal", "bos": "add", **settings}
    return opening.model(EvaluateConfig(model=ModelConfig(name_or_path=str(folder), **given)))


def on_the_cpu(folder: Path) -> torch.Tensor:
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", bos="add")
    return scores(checkpoint.pretrained(model, None, ""), causal_models.requests())


@pytest.mark.parametrize(("dtype", "mean"), [("float32", 2e-3), ("bfloat16", 0.2)])
def test_the_device_scores_as_a_cpu_does(folder: Path, dtype: str, mean: float) -> None:
    loaded = opened(folder, dtype=dtype)
    assert next(loaded.network.parameters()).device.type == DEVICE.type
    found = scores(loaded, causal_models.requests())
    assert float((found - on_the_cpu(folder)).abs().mean()) < mean


@pytest.mark.parametrize("quantization", ["8bit", "4bit"])
def test_adapters_over_few_bits(folder: Path, tmp_path: Path, quantization: str) -> None:
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", bos="add")
    adapted, tokenizer, manifest = trained(model, "causal", PeftConfig(name="lora", dropout=0.0))
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    merged = on_the_cpu(tmp_path / "model")
    apart = opened(tmp_path / "model", quantization=quantization)
    found = scores(apart, causal_models.requests())
    assert torch.corrcoef(torch.stack([found, merged]))[0, 1] > 0.7


def test_layers_over_every_device(folder: Path) -> None:
    pytest.importorskip("accelerate")
    found = scores(opened(folder, device_map="auto"), causal_models.requests())
    assert float((found - on_the_cpu(folder)).abs().mean()) < 2e-3


@pytest.mark.filterwarnings("default")  # vLLM's own imports warn
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_vllm_itself_scores_and_replies_as_transformers_does(folder: Path, dtype: str) -> None:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("needs figlang[vllm]")
    there = opened(folder, engine="vllm", dtype=dtype, window=600)
    found = scores(there, causal_models.requests())
    assert float((found - on_the_cpu(folder)).abs().mean()) < (5e-3 if dtype == "float32" else 0.2)
    if dtype == "float32":
        here, sampling = opened(folder), SamplingConfig(max_tokens=4)
        messages = ["The oven was", "He is a lion. That is to say,"]
        assert generation.converse(there, messages, sampling) == generation.converse(here, messages, sampling)


@pytest.mark.filterwarnings("default")
def test_vllm_itself_takes_adapters(folder: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("needs figlang[vllm]")
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal")
    adapted, tokenizer, manifest = trained(model, "causal", PeftConfig(name="lora", dropout=0.0))
    checkpoint.export(adapted, tokenizer, replace(manifest, bos="265"), tmp_path / "model")
    config = EvaluateConfig(checkpoint=str(tmp_path / "model"), model=ModelConfig(engine="vllm", window=600))
    here = checkpoint.load(str(tmp_path / "model"))
    requests = causal_models.requests()
    assert float((scores(opening.model(config), requests) - scores(here, requests)).abs().mean()) < 5e-3


def test_a_network_is_built_where_it_computes(folder: Path) -> None:
    network, _ = networks.causal(ModelConfig(name_or_path=str(folder), family="causal"), "")
    assert layout.place(network, DEVICE).device.type == DEVICE.type
