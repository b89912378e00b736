"""What a GPU computes is what a CPU computes, by every engine that is installed: `make test-gpu`.

Without a GPU the same lines run on the CPU, as far as they go.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric.utilities import move_data_to_device
from torch import nn

from figlang.config import (
    EvaluateConfig,
    ModelConfig,
    PeftConfig,
    PromptConfig,
    SamplingConfig,
    ScoringConfig,
    TrainerConfig,
)
from figlang.evaluation import generation, opening, runtime
from figlang.models import checkpoint, layout, networks
from figlang.scoring.likelihood import choose
from figlang.scoring.requests import RequestEncoder
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringEncoder, StringScorer
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording
from figlang.types import Item
from tests import causal_models
from tests.models.hosted.test_engine import CHAT, scores
from tests.models.test_lora import trained

pytestmark = pytest.mark.gpu
DEVICE = runtime.device(TrainerConfig())
# One unit in the last place of the numbers that vLLM multiplies on a GPU. Its attention by Triton takes
# float32 numbers as TF32, which has 10 bits. On a CPU float32 stays float32.
UNITS = {"float32": 2.0**-10, "bfloat16": 2.0**-7}


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


def plain(folder: Path) -> checkpoint.Loaded:
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", bos="add")
    return checkpoint.pretrained(model, None, "")


def on_the_cpu(folder: Path) -> torch.Tensor:
    return scores(plain(folder), causal_models.requests())


def of_rounding(loaded: checkpoint.Loaded, dtype: str) -> float:
    """How far log-probabilities move on average if each number of the embeddings moves by one unit.

    This grows with the layers, the length of the texts and the size of the logits, as the effect of any
    rounding does. All roundings of this network in bf16 move them half as far (0.19 and 0.36), TF32 in its
    attention a fifth (0.010 and 0.048), and a missing bos five times as far as bf16's unit.
    """
    if dtype == "float32" and DEVICE.type == "cpu":
        return 5e-3

    def nudge(_: nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        signs = torch.rand(output.shape, generator=torch.Generator().manual_seed(0)).sub_(0.5).sign_()
        return output * (1 + UNITS[dtype] * signs)

    before = scores(loaded, causal_models.requests())
    hook = loaded.network.get_input_embeddings().register_forward_hook(nudge)
    after = scores(loaded, causal_models.requests())
    hook.remove()
    return float((after - before).abs().mean())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_device_scores_as_a_cpu_does(folder: Path, dtype: str) -> None:
    loaded = opened(folder, dtype=dtype)
    assert next(loaded.network.parameters()).device.type == DEVICE.type
    found = scores(loaded, causal_models.requests())
    allowed = 2e-3 if dtype == "float32" else of_rounding(plain(folder), dtype)
    assert float((found - on_the_cpu(folder)).abs().mean()) < allowed


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
    assert float((found - on_the_cpu(folder)).abs().mean()) < of_rounding(plain(folder), dtype)
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
    difference = scores(opening.model(config), requests) - scores(here, requests)
    assert float(difference.abs().mean()) < of_rounding(here, "float32")


def test_trainings_score_on_the_device_as_evaluations_do(folder: Path) -> None:
    # Without autocast, as before and after a training: cuDNN would misread a mask of another precision.
    network, tokenizer = networks.causal(
        ModelConfig(name_or_path=str(folder), family="causal", dtype="bfloat16"), ""
    )
    layout.place(network, DEVICE)
    wording = Wording(ScoringConfig(span="answer", norm="sum"), PromptConfig())
    strings = StringEncoder(RequestEncoder(tokenizer, "add"), wording, sharing=True)
    item = Item("1", "1", "the room was an oven", ("it was hot", "it was very cold"), 0)
    batch = move_data_to_device(strings.collate(strings.encode([item] * 3)), DEVICE)
    with torch.inference_mode():
        found = StringScorer(dissect(network))(network, batch)
    expected = choose(CausalScorer(network, tokenizer, "add"), [item], wording).forward[0].scores
    assert found[0].tolist() == pytest.approx(expected, rel=0.02)


def test_a_network_is_built_where_it_computes(folder: Path) -> None:
    network, _ = networks.causal(ModelConfig(name_or_path=str(folder), family="causal"), "")
    assert layout.place(network, DEVICE).device.type == DEVICE.type
