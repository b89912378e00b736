"""Adapters: what they train, how they are exported and read, and that merging loses nothing."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.evaluation.how import origin
from figlang.files.ownership import OWN
from figlang.models import checkpoint, layout, lora, networks, weights
from figlang.release import card, merging
from figlang.scoring.encode import word
from tests import cards, causal_models
from tests.models.test_checkpoint import DOCUMENT, TEXTS
from tests.models.trained import FORMATS, ITEMS, exported, loaded_scores, scores, trained


@pytest.mark.parametrize(
    ("format", "kind"),
    [
        ("pair", "lora"),
        ("pair", "dora"),
        ("joint", "rslora"),
        ("dual", "lora"),
        ("causal", "lora"),
        ("causal", "dora"),
        ("pair", "ia3"),
        ("dual", "ia3"),
        ("causal", "ia3"),
        ("pair", "vera"),
        ("dual", "vera"),
        ("causal", "vera"),
    ],
)
def test_an_adapter_folder_scores_as_the_trained_network_did(tmp_path: Path, format: str, kind: str) -> None:
    before, folder = exported(tmp_path, format, FORMATS[format], kind)
    written = {"adapter_config.json", "adapter_model.safetensors", "config.json", "figlang.json", "README.md"}
    assert {path.name for path in folder.iterdir()} == written | {OWN}, (
        "neither the network below nor its tokenizer"
    )
    assert loaded_scores(folder) == pytest.approx(before, abs=1e-5)
    apart = checkpoint.load_unmerged(str(folder))
    assert isinstance(apart.network, PeftModel)
    assert scores(apart.network, apart.tokenizer, apart.manifest) == pytest.approx(before, abs=1e-5)


# The lines call peft 0.21, which causes it.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
@pytest.mark.parametrize(
    ("format", "own"), [("pair", False), ("joint", False), ("dual", False), ("pair", True)]
)
def test_the_lines_on_the_card_load_adapters_with_plain_peft(tmp_path: Path, format: str, own: bool) -> None:
    if own:
        model = ModelConfig(init="tiny", architecture=FORMATS[format])
        adapted, tokenizer, manifest = trained(model, format, PeftConfig(name="lora"))
        before, folder = scores(adapted, tokenizer, manifest), tmp_path / "model"
        checkpoint.export(adapted, tokenizer, manifest, folder, card.card(manifest, DOCUMENT))
        assert loaded_scores(folder) == pytest.approx(before, abs=1e-5)
    else:
        before, folder = exported(tmp_path, format, FORMATS[format])
    context, *options = (word(text, "clean") for text in TEXTS)
    found = cards.scores((folder / "README.md").read_text(), folder, context, options)
    assert found == pytest.approx(before, abs=1e-5)


def test_a_tiny_causal_network_lies_beside_its_adapters_with_its_tokenizer(tmp_path: Path) -> None:
    adapted, tokenizer, manifest = trained(
        ModelConfig(init="tiny", architecture="llama", family="causal"), "causal", PeftConfig(name="dora")
    )
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-5)


def test_modules_that_the_base_lacks_are_trained_and_written_whole(tmp_path: Path) -> None:
    _, folder = exported(tmp_path)
    stored = load_file(folder / "adapter_model.safetensors")
    assert {name for name in stored if "lora_" not in name} == {
        f"base_model.model.{module}.{part}"
        for module in ("classifier", "bert.pooler.dense")
        for part in ("weight", "bias")
    }
    assert not any("classifier" in name or "pooler" in name for name in stored if "lora_" in name)


@pytest.mark.parametrize(
    ("architecture", "asked", "found"),
    [
        ("bert", "auto", {"query", "value"}),
        ("bert", ["key", "intermediate.dense"], {"key", "dense"}),
        ("llama", "auto", {"q_proj", "v_proj"}),
        ("gpt2", "auto", {"c_attn"}),
        ("modernbert", "auto", {"Wqkv", "Wo", "Wi"}),
    ],
)
def test_target_modules(architecture: str, asked: Any, found: set[str]) -> None:
    causal = architecture in ("llama", "gpt2")
    model = ModelConfig(init="tiny", architecture=architecture, family="causal" if causal else "encoder")
    adapted, _, _ = trained(
        model, "causal" if causal else "pair", PeftConfig(name="lora", target_modules=asked)
    )
    names = [
        name for name, parameter in adapted.named_parameters() if parameter.requires_grad and "lora_A" in name
    ]
    assert {name.split(".")[-4] for name in names} == found


def test_target_modules_that_are_not_there_are_named_with_those_that_are() -> None:
    with pytest.raises(
        FiglangError, match=r"fits no layer of .*choose auto, all-linear or some of dense, key, query, value$"
    ):
        trained(ModelConfig(init="tiny"), "pair", PeftConfig(name="lora", target_modules=["q_proj"]))


@pytest.mark.parametrize("asked", ["q_proj", [], [1], None])
def test_target_modules_are_checked(asked: Any) -> None:
    with pytest.raises(FiglangError, match=r"must be auto, all-linear or a list|give a list of words"):
        PeftConfig(target_modules=asked)


@pytest.mark.parametrize(
    ("kind", "name", "value"), [("ia3", "r", 8), ("ia3", "dropout", 0.2), ("vera", "lr_ratio", 4.0)]
)
def test_options_that_a_kind_does_not_have_are_refused(kind: str, name: str, value: Any) -> None:
    with pytest.raises(FiglangError, match=f"peft.{name} changes nothing under peft={kind}"):
        PeftConfig(name=kind, **{name: value})


def test_another_base_under_the_same_name_is_found_out(tmp_path: Path) -> None:
    _, folder = exported(tmp_path)
    stored = load_file(tmp_path / "base" / "model.safetensors")
    stored["encoder.layer.0.output.dense.weight"][0, 0] += 0.5
    save_file(stored, tmp_path / "base" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        FiglangError, match=r"has other weights than the network on which its adapters were trained"
    ):
        checkpoint.load(str(folder))


def test_a_base_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    _, folder = exported(tmp_path)
    shutil.rmtree(tmp_path / "base")
    with pytest.raises(FiglangError, match=r"no such model folder: .*base"):
        checkpoint.load(str(folder))


def test_the_base_may_lie_elsewhere(tmp_path: Path) -> None:
    """`model.base` takes the place of what the adapters name, and is compared with the training's all the
    same."""
    _, folder = exported(tmp_path)
    before = checkpoint.load(str(folder)).fingerprint
    (tmp_path / "base").rename(tmp_path / "moved")
    there = ModelConfig(base=str(tmp_path / "moved"))
    assert checkpoint.load(str(folder), there).fingerprint == before
    stored = load_file(tmp_path / "moved" / "model.safetensors")
    stored["encoder.layer.0.output.dense.weight"][0, 0] += 0.5
    save_file(stored, tmp_path / "moved" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(FiglangError, match=r"moved has other weights than the network on which its adapters"):
        checkpoint.load(str(folder), there)
    whole = ModelConfig(name_or_path=str(tmp_path / "moved"), base=str(tmp_path))
    with pytest.raises(FiglangError, match=r"holds no adapters; leave model.base out"):
        checkpoint.load(whole.name_or_path, whole)


@pytest.mark.parametrize("content", [b"\x00" * 40, b""])
def test_damaged_adapters_are_one_sentence(tmp_path: Path, content: bytes) -> None:
    _, folder = exported(tmp_path)
    (folder / "adapter_model.safetensors").write_bytes(content)
    with pytest.raises(FiglangError, match=r"its adapters do not fit .* or are damaged"):
        checkpoint.load(str(folder))


def test_adapters_that_lack_a_weight_are_refused(tmp_path: Path) -> None:
    _, folder = exported(tmp_path)
    stored = load_file(folder / "adapter_model.safetensors")
    del stored["base_model.model.classifier.weight"]
    save_file(stored, folder / "adapter_model.safetensors")
    with pytest.raises(FiglangError, match=r"1 weight is not in both, for example .*classifier\.weight"):
        checkpoint.load(str(folder))


def test_pickled_adapters_need_the_switch(tmp_path: Path) -> None:
    before, folder = exported(tmp_path)
    torch.save(load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(FiglangError, match=r"model\.allow_bin=true also takes pickled \.bin weights"):
        checkpoint.load(str(folder))
    loaded = checkpoint.load(str(folder), ModelConfig(allow_bin=True))
    assert scores(loaded.network, loaded.tokenizer, loaded.manifest) == pytest.approx(before, abs=1e-5)


class Evil:
    def __reduce__(self) -> Any:
        return print, ("it ran",)


def test_nothing_in_a_pickle_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, folder = exported(tmp_path)
    (folder / "adapter_model.safetensors").unlink()
    torch.save({"weight": Evil()}, folder / "adapter_model.bin")
    with pytest.raises(FiglangError, match=r"are damaged \(it is damaged or holds more than tensors\)"):
        checkpoint.load(str(folder), ModelConfig(allow_bin=True))
    whole = tmp_path / "base"
    (whole / "model.safetensors").unlink()
    torch.save({"weight": Evil()}, whole / "pytorch_model.bin")
    with pytest.raises(FiglangError, match=r"cannot load model .* it is damaged or holds more than tensors"):
        checkpoint.load(str(whole), ModelConfig(allow_bin=True))
    assert "it ran" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "broken", [{"megatron_config": {"a": 1}}, {"peft_type": "POLY"}, {"base_model_name_or_path": None}]
)
def test_adapter_settings_that_cannot_be_trusted_are_refused(tmp_path: Path, broken: dict[str, Any]) -> None:
    _, folder = exported(tmp_path)
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | broken))
    with pytest.raises(FiglangError, match=r"adapters|names no base_model_name_or_path"):
        checkpoint.load(str(folder))


@pytest.mark.parametrize("rounds", [1, 2])
def test_adapters_that_lie_below_themselves_are_one_sentence(tmp_path: Path, rounds: int) -> None:
    _, folder = exported(tmp_path)
    (folder / "figlang.json").unlink()
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for place, below in ((folder, (folder, other)[rounds - 1]), (other, folder)):
        path = place / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": str(below)}))
    with pytest.raises(FiglangError, match=r"names adapters over these ones as base_model_name_or_path"):
        checkpoint.load(str(folder), ModelConfig())


def test_a_training_with_other_inputs_starts_from_adapters(tmp_path: Path) -> None:
    _, folder = exported(tmp_path)
    whole = checkpoint.load(str(folder)).network
    network, _, new = networks.begin(ModelConfig(name_or_path=str(folder)), "dual", [], 2)
    assert new == []
    assert torch.equal(
        network.encoder.layer[0].output.dense.weight, whole.bert.encoder.layer[0].output.dense.weight
    )
    _, _, new = networks.begin(ModelConfig(name_or_path=str(folder)), "nli", [], 3)
    assert new == ["classifier"]


def test_adapters_are_told_from_whole_networks(tmp_path: Path) -> None:
    _, folder = exported(tmp_path)
    assert weights.has_adapters(ModelConfig(name_or_path=str(folder)))
    assert not weights.has_adapters(ModelConfig(name_or_path=str(tmp_path / "base")))
    with pytest.raises(FiglangError, match="holds no adapters"):
        weights.unmerged(ModelConfig(name_or_path=str(tmp_path / "base")), "")


def test_adapters_over_four_bits_are_read_back_over_the_same_values(tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    causal_models.network("llama", hidden_size=64, intermediate_size=128, head_dim=16).save_pretrained(
        tmp_path / "base"
    )
    causal_models.tokenizer().save_pretrained(tmp_path / "base")
    model = ModelConfig(
        name="tiny", name_or_path=str(tmp_path / "base"), family="causal", quantization="4bit"
    )
    adapted, tokenizer, manifest = trained(model, "causal", PeftConfig(name="qlora"))
    manifest = replace(manifest, base_precision=layout.precision(adapted.get_base_model()))
    assert manifest.base_precision == "float32+4bit"
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    assert "quantization" not in (tmp_path / "model" / "config.json").read_text()
    loaded = checkpoint.load(str(tmp_path / "model"))
    assert layout.precision(loaded.network) == "float32+4bit", "it takes no more memory than its training"
    assert origin(loaded)["adapters"] == "apart"
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-4)
    merged = checkpoint.load(str(tmp_path / "model"), ModelConfig(adapters="merge"))
    assert not getattr(merged.network, "is_quantized", False)
    assert merged.network.dtype == torch.float32
    of_merged = scores(merged.network, merged.tokenizer, merged.manifest)
    assert of_merged == pytest.approx(before, abs=1e-2)
    merging.merge(checkpoint.load_unmerged(str(tmp_path / "model")), ITEMS, tmp_path / "whole")
    assert loaded_scores(tmp_path / "whole") == pytest.approx(of_merged, abs=1e-5)


def test_gradients_pass_through_weights_in_four_bits_that_were_evaluated(tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    sizes = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16, "num_hidden_layers": 3}
    causal_models.network("llama", **sizes).save_pretrained(tmp_path / "base")
    causal_models.tokenizer().save_pretrained(tmp_path / "base")
    model = ModelConfig(name="tiny", name_or_path=str(tmp_path / "base"), family="causal")
    few, _ = networks.causal(replace(model, quantization="4bit"), "")
    layout.bear_gradients(few)
    causal_models.values(few, range(9), 1)  # as before every training
    plain, _ = networks.causal(replace(model, quantization="4bit"), "")
    found = []
    for network in (few, plain.dequantize()):
        torch.manual_seed(0)
        settings = PeftConfig(name="lora", dropout=0.0, target_modules=["q_proj", "down_proj"])
        adapted = lora.adapt(network, settings, [], model.name_or_path, None).eval()
        for training in (True, False, True):  # an evaluation between steps changes nothing
            adapted.train(training)
            with torch.set_grad_enabled(training):
                loss = adapted(input_ids=torch.arange(9, device=network.device)[None]).logits.std()
        loss.backward()
        trained = [(name, each.grad) for name, each in adapted.named_parameters() if "lora_B" in name]
        found.append(dict(trained))
    for name, gradient in found[0].items():
        together = torch.stack([gradient.flatten(), found[1][name].flatten()])
        assert torch.corrcoef(together)[0, 1] > 0.999, name


@pytest.mark.parametrize("option", ["rank_pattern", "alpha_pattern"])
def test_a_pattern_that_fits_no_layer_is_refused(option: str) -> None:
    def laid(patterns: dict[str, int]) -> PeftModel:
        given: dict[str, Any] = {"target_modules": ["q_proj", "v_proj"], option: patterns}
        model = ModelConfig(init="tiny", architecture="llama", family="causal")
        return trained(model, "causal", PeftConfig(name="lora", **given))[0]

    found = getattr(laid({"q_proj": 4, r"layers\.0\..*v_proj": 2}).active_peft_config, option)
    assert set(found.values()) == {4, 2}
    # k_proj is there, without adapters.
    for key in ("q_projj", "proj", "k_proj"):
        line = f"peft.{option}={key} fits no layer with adapters; choose some of q_proj, v_proj"
        with pytest.raises(FiglangError, match=line):
            laid({"q_proj": 4, key: 4})
    with pytest.raises(FiglangError, match="is not a regular expression"):
        laid({"(q_proj": 4})
