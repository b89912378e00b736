"""GGUF files of today's families give the logits of the network that they were written from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from figlang.models import gguf
from figlang.models.gguf import folder
from tests import causal_models

LAYERS, HEADS, GROUPS, WORDS = 2, 4, 2, 64
# The architecture of transformers, and the name that llama.cpp has for it.
FAMILIES = {"llama": "llama", "qwen3": "qwen3", "gemma3_text": "gemma3"}


def network(family: str) -> PreTrainedModel:
    more: dict[str, Any] = {"sliding_window": 16} if family == "gemma3_text" else {}
    if family == "qwen3":
        more["head_dim"] = (
            128  # transformers 5.23 takes this width for every file of Qwen3, and all of them have it
        )
    built = causal_models.network(family, WORDS, num_hidden_layers=LAYERS, max_position_embeddings=64, **more)
    with torch.no_grad():
        for name, weight in built.named_parameters():
            if "norm" in name:  # 1, or 0 for Gemma, which adds 1 to them
                weight.add_(torch.randn_like(weight) * 0.2)
    return built


def turned(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of queries or keys in the order of llama.cpp: the halves of a head are interleaved."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(weight.shape)


def written(path: Path, built: PreTrainedModel, family: str) -> Path:
    writers = pytest.importorskip("gguf")
    name, config = FAMILIES[family], built.config
    writer = writers.GGUFWriter(path, name)
    writer.add_context_length(64)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    for width in (writer.add_key_length, writer.add_value_length, writer.add_rope_dimension_count):
        width(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    kind = config.rope_parameters
    writer.add_rope_freq_base(kind.get("full_attention", kind)["rope_theta"])
    if family == "gemma3_text":
        writer.add_sliding_window(config.sliding_window)
    words = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"▁w{number}" for number in range(WORDS - 4))]
    writer.add_tokenizer_model("llama" if family == "gemma3_text" else "gpt2")
    writer.add_token_list(words)
    writer.add_token_scores([-float(number) for number in range(WORDS)])
    writer.add_token_types([3, 3, 3, 2, *([1] * (WORDS - 4))])
    writer.add_token_merges([])
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    names = writers.get_tensor_name_map(
        next(a for a, n in writers.MODEL_ARCH_NAMES.items() if n == name), LAYERS
    )
    tied = built.get_output_embeddings().weight is built.get_input_embeddings().weight
    for place, weight in built.state_dict().items():
        if tied and place.startswith("lm_head"):
            continue
        values = weight.float().numpy()
        if family == "llama" and "q_proj" in place:
            values = turned(values, HEADS)
        if family == "llama" and "k_proj" in place:
            values = turned(values, GROUPS)
        if family == "gemma3_text" and "norm" in place:
            values = values + 1
        writer.add_tensor(names.get_name(place, try_suffixes=(".weight",)), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_the_network_that_was_written(family: str, tmp_path: Path) -> None:
    built = network(family)
    path = written(tmp_path / "tiny.gguf", built, family)
    read = AutoModelForCausalLM.from_pretrained(folder(str(path), str(tmp_path / "cache")))
    assert read.config.model_type == family
    ids = torch.arange(4, 44)[None]
    with torch.no_grad():
        assert torch.allclose(read.eval()(ids).logits, built(ids).logits, atol=1e-4)
    assert gguf.is_gguf(str(path))
