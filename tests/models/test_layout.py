"""Checkpoints that hold weights in few bits load through transformers, or one line names what is missing."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GptOssConfig

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.evaluation.how import origin
from figlang.models import checkpoint, layout
from figlang.scoring.tree.causal import CausalScorer
from tests import causal_models

# The numbers of four bits, in the order of their codes.
FOUR_BITS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])

LARGEST = 448  # number of FP8


def llama(place: Path) -> Path:
    network = causal_models.network("llama", hidden_size=64, intermediate_size=128, head_dim=16)
    network.to(torch.bfloat16).save_pretrained(place)
    causal_models.tokenizer().save_pretrained(place)
    return place


def stored_by(place: Path, weights: dict[str, torch.Tensor], **settings: Any) -> None:
    """Replace the weights of a folder, and say in its config.json how they are stored."""
    save_file(weights, place / "model.safetensors", {"format": "pt"})
    content = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(content | {"quantization_config": settings}))


def loaded(place: Path, dtype: str = "bfloat16") -> checkpoint.Loaded:
    model = ModelConfig(name="tiny", name_or_path=str(place), family="causal", bos="add", dtype=dtype)
    return checkpoint.pretrained(model, None, str(place))


def divided(place: Path) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The weights of a folder: those that stay as they are, and those of projections."""
    weights = load_file(place / "model.safetensors")
    projected = {name: weight for name, weight in weights.items() if name.endswith("proj.weight")}
    return {name: weight for name, weight in weights.items() if name not in projected}, projected


def scores(model: checkpoint.Loaded) -> torch.Tensor:
    found = CausalScorer(model.network, model.tokenizer, model.bos()).score(causal_models.requests())
    return torch.cat(list(found.log_probs))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_fp8_scores_as_the_numbers_that_it_stands_for(tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("accelerate")
    if torch.cuda.is_available():
        pytest.skip("a GPU multiplies in FP8")
    few, plain = llama(tmp_path / "few"), llama(tmp_path / "plain")
    stored, projected = divided(few)
    meant = dict(stored)
    for name, weight in projected.items():
        scale = weight.float().abs().max() / LARGEST
        stored[name] = (weight.float() / scale).to(torch.float8_e4m3fn)
        meant[name] = (stored[name].float() * scale).to(getattr(torch, dtype))
        stored[f"{name}_scale_inv"] = torch.full([-(-size // 128) for size in weight.shape], float(scale))
    settings = {"weight_block_size": [128, 128], "activation_scheme": "dynamic", "fmt": "e4m3"}
    stored_by(few, stored, quant_method="fp8", **settings)
    save_file(meant, plain / "model.safetensors", {"format": "pt"})
    model = loaded(few, dtype)
    floats = {each.dtype for each in model.network.parameters() if each.is_floating_point()}
    assert floats == {getattr(torch, dtype)}
    assert torch.equal(scores(model), scores(loaded(plain, dtype)))
    assert (origin(model)["file"], origin(model)["precision"]) == ("fp8", dtype)
    assert "file" not in origin(loaded(plain, dtype))


def four_bits(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Blocks, scales and meaning of experts' weights (E, I, O) in MXFP4: 32 numbers share a power of two."""
    turned = weight.float().transpose(1, 2)
    blocks = turned.unflatten(-1, (-1, 32))
    power = blocks.abs().amax(-1, keepdim=True).log2().floor() - 2
    codes = (blocks / 2**power).unsqueeze(-1).sub(FOUR_BITS).abs().argmin(-1)
    packed = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
    meant = (FOUR_BITS[codes] * 2**power).reshape(turned.shape).transpose(1, 2)
    return packed, (power[..., 0] + 127).to(torch.uint8), meant.to(torch.bfloat16).contiguous()


@pytest.mark.filterwarnings("ignore")  # rotary settings of a small gpt-oss
def test_mxfp4_scores_as_the_numbers_that_it_stands_for(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    if torch.cuda.is_available():
        pytest.skip("a GPU multiplies in MXFP4")
    sizes = {"hidden_size": 64, "intermediate_size": 64, "head_dim": 16, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300}
    sizes |= {"num_local_experts": 2, "num_experts_per_tok": 1, "max_position_embeddings": 640}
    ends = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"))
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(GptOssConfig(**sizes, **ends)).to(torch.bfloat16)
    for place in ("few", "plain"):
        network.save_pretrained(tmp_path / place)
        causal_models.tokenizer().save_pretrained(tmp_path / place)
    weights = load_file(tmp_path / "few" / "model.safetensors")
    stored, meant = dict(weights), dict(weights)
    for name in weights:
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            stored[f"{name}_blocks"], stored[f"{name}_scales"], meant[name] = four_bits(stored.pop(name))
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    stored_by(tmp_path / "few", stored, quant_method="mxfp4", modules_to_not_convert=kept)
    save_file(meant, tmp_path / "plain" / "model.safetensors", {"format": "pt"})
    model = loaded(tmp_path / "few")
    assert torch.equal(scores(model), scores(loaded(tmp_path / "plain")))
    assert origin(model)["file"] == "mxfp4"


def test_compressed_tensors_score_as_the_numbers_that_they_stand_for(tmp_path: Path) -> None:
    pytest.importorskip("compressed_tensors", reason="pip install compressed-tensors")
    few, plain = llama(tmp_path / "few"), llama(tmp_path / "plain")
    stored, projected = divided(few)
    meant = dict(stored)
    for name, weight in projected.items():
        scale = (weight.float().abs().max() / LARGEST).to(torch.bfloat16)
        stored[name] = (weight / scale).to(torch.float8_e4m3fn)
        meant[name] = stored[name].to(torch.bfloat16) * scale
        stored[f"{name}_scale"] = scale.reshape(1)
    eight = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "tensor", "dynamic": False}
    group = {"targets": ["Linear"], "weights": eight, "input_activations": None}
    settings = {"format": "float-quantized", "config_groups": {"group_0": group}, "ignore": ["lm_head"]}
    stored_by(few, stored, quant_method="compressed-tensors", quantization_status="compressed", **settings)
    save_file(meant, plain / "model.safetensors", {"format": "pt"})
    model = loaded(few)
    assert float((scores(model) - scores(loaded(plain))).abs().mean()) < 0.1  # bf16 rounds in other places
    assert origin(model)["precision"] in ("bfloat16", "bfloat16+compressed-tensors")
    assert origin(model)["file"] == "compressed-tensors"


@pytest.mark.parametrize(
    ("method", "needed"),
    [
        ("gptq", ["optimum", "gptqmodel"]),
        ("awq", ["gptqmodel"]),
        ("compressed-tensors", ["compressed-tensors"]),
    ],
)
def test_the_packages_that_a_method_needs_are_named_at_once(
    tmp_path: Path, method: str, needed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = llama(tmp_path)
    stored_by(place, load_file(place / "model.safetensors"), quant_method=method, bits=4)
    found, absent = importlib.util.find_spec, [name.replace("-", "_") for name in needed]
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in absent else found(name) or 1
    )
    with pytest.raises(FiglangError) as error:
        loaded(place)
    named = " and ".join(needed)
    assert f"in few bits ({method}), which needs {named}; install: pip install {' '.join(needed)}" in str(
        error.value
    )
    assert "\n" not in str(error.value)


def test_a_method_that_transformers_does_not_know_is_its_own_words(tmp_path: Path) -> None:
    place = llama(tmp_path)
    stored_by(place, load_file(place / "model.safetensors"), quant_method="fbgemm_fp8")
    if torch.cuda.is_available():
        pytest.skip("a GPU reads it")
    with pytest.raises(FiglangError, match=r"cannot load model .*: .*requires a GPU or XPU"):
        loaded(place)


def test_weights_are_moved_unless_they_were_laid_out() -> None:
    class Network(torch.nn.Linear):
        is_quantized = True

    moved = layout.place(Network(2, 2), torch.device("meta"))  # type: ignore[arg-type]
    assert moved.weight.is_meta, "GPTQ and FP8 are read into memory first"
    network = Network(2, 2)
    network.is_loaded_in_4bit = True
    assert not layout.place(network, torch.device("meta")).weight.is_meta  # type: ignore[arg-type]
