"""Adapters that stay beside the weights below them give the scores of merged ones, in less memory."""

import copy
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.evaluation.how import origin
from figlang.models import checkpoint, layout, lora, networks
from figlang.models.below import weights_sha256
from figlang.models.manifest import Manifest
from figlang.scoring.adapted import has_layers
from figlang.scoring.tree.causal import CausalScorer
from tests import causal_models
from tests.models.test_lora import FORMATS, exported, scores, trained


def opened(folder: Path, adapters: str) -> checkpoint.Loaded:
    return checkpoint.load(str(folder), ModelConfig(adapters=adapters))


def scored(loaded: checkpoint.Loaded) -> list[float]:
    return scores(loaded.network, loaded.tokenizer, loaded.manifest)


@pytest.mark.parametrize(
    ("format", "kind"),
    [("pair", "lora"), ("joint", "rslora"), ("dual", "dora"), ("causal", "lora"), ("causal", "dora")],
)
def test_scores_are_those_of_merged_adapters_and_the_signature_names_them(
    tmp_path: Path, format: str, kind: str
) -> None:
    before, folder = exported(tmp_path, format, FORMATS[format], kind)
    apart, merged = opened(folder, "apart"), opened(folder, "merge")
    assert has_layers(apart.network)
    assert not has_layers(merged.network)
    assert scored(apart) == pytest.approx(before, abs=1e-5)
    assert scored(apart) == pytest.approx(scored(merged), abs=1e-5)
    assert origin(apart)["adapters"] == "apart"
    assert "adapters" not in origin(merged)


def large(tmp_path: Path, kind: str = "lora", **base: Any) -> tuple[Path, Any, Any, Manifest]:
    """Adapters of a causal network with bf16 or few bits below them, and the trained network."""
    causal_models.network("llama", hidden_size=64, intermediate_size=128, head_dim=16).save_pretrained(
        tmp_path / "base"
    )
    causal_models.tokenizer().save_pretrained(tmp_path / "base")
    model = ModelConfig(name="tiny", name_or_path=str(tmp_path / "base"), family="causal", **base)
    adapted, tokenizer, manifest = trained(model, "causal", PeftConfig(name=kind, dropout=0.0))
    network = adapted.get_base_model()
    manifest = replace(
        manifest, base_precision=layout.precision(network), base_sha256=weights_sha256(plain(network), [])
    )
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    return tmp_path / "model", adapted, tokenizer, manifest


def plain(adapted: Any) -> Any:
    """The network below, under the names that it has without adapters."""
    network = copy.deepcopy(adapted)
    for name, module in list(network.named_modules()):
        if hasattr(module, "base_layer") and name:
            network.set_submodule(name, module.base_layer)
    return network


def lines(network: Any, tokenizer: Any) -> torch.Tensor:
    found = CausalScorer(network.eval(), tokenizer).score(causal_models.requests())
    return torch.cat(list(found.log_probs))


@pytest.mark.parametrize("kind", ["lora", "dora", "rslora"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_merging_a_layer_at_a_time_gives_the_weights_of_merging_all_in_float32(
    tmp_path: Path, kind: str, dtype: torch.dtype
) -> None:
    _, adapted, *_ = large(tmp_path, kind, dtype="bfloat16")
    whole = copy.deepcopy(adapted).float().merge_and_unload().to(dtype).state_dict()
    merged = lora.merge(adapted, dtype)
    assert merged.dtype == dtype
    for name, weight in merged.state_dict().items():
        assert torch.equal(weight, whole[name]), name


def test_the_weights_below_keep_the_precision_of_the_training(tmp_path: Path) -> None:
    folder, adapted, tokenizer, _ = large(tmp_path, dtype="bfloat16")
    apart = opened(folder, "apart")
    assert layout.precision(apart.network) == "bfloat16"
    assert apart.network.model.rotary_emb.inv_freq.dtype == torch.float32
    assert {
        parameter.dtype for name, parameter in apart.network.named_parameters() if "lora_" not in name
    } == {torch.bfloat16}
    assert torch.equal(lines(apart.network, tokenizer), lines(adapted.get_base_model(), tokenizer))
    merged = opened(folder, "merge")
    assert merged.network.dtype == torch.float32
    assert lines(apart.network, tokenizer) == pytest.approx(lines(merged.network, tokenizer), abs=0.5)


def test_fewer_bits_may_be_asked_for_but_never_more(tmp_path: Path) -> None:
    folder, *_ = large(tmp_path)
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", adapters="apart")
    assert networks.causal(replace(model, dtype="bfloat16"), "")[0].dtype == torch.bfloat16
    assert networks.causal(model, "")[0].dtype == torch.float32
    trained = ModelConfig(family="causal", dtype="bfloat16", quantization="4bit")
    below = layout.lowered(trained, model)
    assert (below.dtype, below.quantization) == ("bfloat16", "4bit")


def test_weights_laid_out_over_devices_take_adapters(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    folder, _, tokenizer, _ = large(tmp_path)
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", device_map="auto")
    loaded = checkpoint.pretrained(model, None, str(tmp_path))
    assert has_layers(loaded.network), "auto does not merge into weights that are laid out"
    merged = opened(folder, "merge")
    assert lines(loaded.network, tokenizer) == pytest.approx(lines(merged.network, tokenizer), abs=1e-4)
    with pytest.raises(
        FiglangError, match=r"cannot be merged with model\.device_map .*model\.adapters=apart"
    ):
        networks.causal(replace(model, adapters="merge"), "")


def test_weights_on_disk_take_adapters(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("accelerate")
    folder, _, tokenizer, _ = large(tmp_path)
    merged = opened(folder, "merge")
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", adapters="apart")
    memory, disk = (
        ("model.embed_tokens", "model.rotary_emb", "model.layers.0"),
        ("model.layers.1", "model.norm"),
    )
    parts = dict.fromkeys(memory, "cpu") | dict.fromkeys((*disk, "lm_head"), "disk")
    more = {"device_map": parts, "offload_folder": str(tmp_path / "disk")}
    caplog.set_level(logging.WARNING, logger="figlang")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "arguments", lambda _: more)
        network, _ = networks.causal(replace(model, device_map="auto"), str(tmp_path))
    assert network.model.layers[1].self_attn.q_proj.base_layer.weight.is_meta
    assert "are not compared with those of the training, since some are on the disk" in caplog.text
    assert lines(network, tokenizer) == pytest.approx(lines(merged.network, tokenizer), abs=1e-4)


@pytest.mark.parametrize("quantization", ["8bit", "4bit"])
@pytest.mark.parametrize("in_training", [False, True])
def test_few_bits_take_adapters(
    tmp_path: Path, quantization: str, in_training: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    bits = {"quantization": quantization} if in_training else {}
    folder, adapted, tokenizer, _ = large(tmp_path, **bits)
    caplog.set_level(logging.WARNING, logger="figlang")
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal", quantization=quantization)
    loaded = checkpoint.pretrained(model, None, str(tmp_path))
    assert has_layers(loaded.network)
    assert layout.precision(loaded.network) == f"float32+{quantization}"
    found = lines(loaded.network, tokenizer)
    merged = lines(opened(folder, "merge").network, tokenizer)
    assert torch.corrcoef(torch.stack([found, merged]))[0, 1] > (
        0.98 if quantization == "8bit" or in_training else 0.7
    )
    if in_training:
        expected = lines(adapted.get_base_model(), tokenizer)
        assert found == pytest.approx(expected, abs=1e-4)
        assert scored(opened(folder, "apart")) == pytest.approx(
            scores(adapted, tokenizer, loaded.manifest), abs=1e-4
        )
    else:
        assert "since they are rounded while they are read" in caplog.text


def test_another_base_is_found_out_too(tmp_path: Path) -> None:
    folder, *_ = large(tmp_path)
    causal_models.network(
        "llama", seed=1, hidden_size=64, intermediate_size=128, head_dim=16
    ).save_pretrained(tmp_path / "base")
    with pytest.raises(FiglangError, match="has other weights than the network on which its adapters"):
        opened(folder, "apart")


def test_a_head_of_another_kind_needs_a_merge(tmp_path: Path) -> None:
    folder, *_ = large(tmp_path)
    model = ModelConfig(name="tiny", name_or_path=str(folder), adapters="apart")
    with pytest.raises(
        FiglangError, match=r"holds adapters of a LlamaForCausalLM, but .* model.adapters=merge"
    ):
        networks.build(model, "joint", [], 2)
    assert not has_layers(networks.build(replace(model, adapters="merge"), "joint", [], 2)[0])
