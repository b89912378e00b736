"""Adapters: what they train, how they are exported and read, and that merging loses nothing."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from figlang.commands.merge import main as merge_command
from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.evaluation.choosing import predict
from figlang.files.folders import OWN
from figlang.models import adapters, checkpoint, layout, lora, networks, weights
from figlang.models.manifest import Manifest
from figlang.release import card, merging
from figlang.scoring.encode import Encoder, word
from figlang.scoring.head import scorer
from figlang.types import Item, Split
from tests import cards, causal_models
from tests.models.test_checkpoint import DOCUMENT, ITEM, TEXTS

FORMATS = {"pair": "bert", "joint": "roberta", "dual": "bert", "causal": "llama"}


def base(folder: Path, format: str, architecture: str) -> ModelConfig:
    """A network without a head for `format`, in a folder, as a hub or a package would have it."""
    torch.manual_seed(1)
    kind = "causal" if format == "causal" else "dual"
    network, tokenizer = (
        networks.causal(ModelConfig(init="tiny", architecture=architecture), "", TEXTS)
        if kind == "causal"
        else networks.build(ModelConfig(init="tiny", architecture=architecture), kind, TEXTS, 2)
    )
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return ModelConfig(
        name="tiny", name_or_path=str(folder), family="causal" if kind == "causal" else "encoder"
    )


def trained(
    model: ModelConfig, format: str, peft: PeftConfig, options: int = 2
) -> tuple[PeftModel, Any, Manifest]:
    """Adapters with weights that matter, their tokenizer and manifest."""
    torch.manual_seed(2)
    if format == "causal":
        network, tokenizer = networks.causal(model, "", TEXTS)
        kept: list[str] = []
    else:
        network, tokenizer, new = networks.begin(model, format, TEXTS, options)
        heads = networks.head_modules(network)
        kept = [*heads, *(name for name in new if not lora.within(name, heads))]
    where = adapters.OWN if model.init == "tiny" else model.name_or_path
    manifest = Manifest(
        "tiny",
        networks.describe(model),
        "contrastive+lora",
        format,
        "clean",
        80,
        20.0,
        options,
        "figqa_sample",
        "0" * 12,
        0,
    )
    if format == "causal":
        manifest = replace(
            checkpoint.causal_manifest(model, checkpoint.ScoringConfig(), "add"), settings="0" * 12
        )
    manifest = replace(manifest, base_precision="float32", base_sha256=lora.fingerprint(network, kept))
    adapted = lora.adapt(network, peft, kept, where, None)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    return adapted.eval(), tokenizer, manifest


def scores(network: Any, tokenizer: Any, manifest: Manifest) -> list[float]:
    if manifest.format == "causal":
        ids = tokenizer(" ".join(TEXTS), return_tensors="pt").input_ids
        with torch.inference_mode():
            return [float(network(input_ids=ids).logits.log_softmax(-1).max())]
    encoder = Encoder(tokenizer, manifest.format, manifest.text, manifest.max_length)
    return list(predict(network, scorer(manifest.format, manifest.scale), encoder, [ITEM])[0].scores)


def exported(
    tmp_path: Path, format: str = "pair", architecture: str = "bert", kind: str = "lora"
) -> tuple[list[float], Path]:
    model = base(tmp_path / "base", format, architecture)
    adapted, tokenizer, manifest = trained(model, format, PeftConfig(name=kind, dropout=0.0))
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model", card.card(manifest, DOCUMENT))
    return before, tmp_path / "model"


def loaded_scores(folder: Path) -> list[float]:
    loaded = checkpoint.load(str(folder))
    return scores(loaded.network, loaded.tokenizer, loaded.manifest)


@pytest.mark.parametrize(
    ("format", "kind"),
    [
        ("pair", "lora"),
        ("pair", "dora"),
        ("joint", "rslora"),
        ("dual", "lora"),
        ("causal", "lora"),
        ("causal", "dora"),
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


@pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing` is deprecated"
)  # by peft 0.21, which the lines call
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
    with pytest.raises(FiglangError, match=r"1 weights are not in both, for example .*classifier\.weight"):
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
    "broken", [{"megatron_config": {"a": 1}}, {"peft_type": "IA3"}, {"base_model_name_or_path": None}]
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


ITEMS = Split(
    name="tiny",
    items=(ITEM, Item("b", "a", "The room was an igloo", ITEM.options, 1)),
    source="here",
    sha256="0" * 64,
)


@pytest.mark.parametrize(
    ("format", "kind"), [("pair", "lora"), ("joint", "dora"), ("dual", "lora"), ("causal", "rslora")]
)
def test_merged_scores_are_equal_and_the_folder_is_plain(tmp_path: Path, format: str, kind: str) -> None:
    before, folder = exported(tmp_path, format, FORMATS[format], kind)
    merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")
    assert (tmp_path / "whole" / "model.safetensors").is_file()
    assert not list((tmp_path / "whole").glob("adapter*"))
    assert loaded_scores(tmp_path / "whole") == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize(
    ("before", "after"), [("pair", "pair"), ("pair", "joint"), ("dual", "dual"), ("causal", "causal")]
)
def test_adapters_over_a_run_with_adapters_are_merged_with_them(
    tmp_path: Path, before: str, after: str
) -> None:
    _, below = exported(tmp_path, before, FORMATS[before])
    model = ModelConfig(name_or_path=str(below), family="causal" if after == "causal" else "encoder")
    adapted, tokenizer, manifest = trained(
        model, after, PeftConfig(name="dora", dropout=0.0), options=3 if after == "joint" else 2
    )
    expected = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "above")
    merging.merge(checkpoint.load_unmerged(str(tmp_path / "above")), ITEMS, tmp_path / "merged")
    shutil.rmtree(below)
    assert loaded_scores(tmp_path / "merged") == pytest.approx(expected, abs=1e-4)


def test_the_command_writes_a_plain_folder_with_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, folder = exported(tmp_path)
    about = {
        "model": "tiny",
        "data_name": "figqa_sample",
        "split": "validation",
        "seed": 0,
        "published_file": False,
    }
    counted = {"items": 0, "hidden": 0, "ties": 0, "accuracy_by": {}, **DOCUMENT["metrics"]}
    (tmp_path / "metrics.json").write_text(json.dumps(DOCUMENT | about | {"metrics": counted}))
    monkeypatch.setattr(sys, "argv", ["merge", f"checkpoint={folder}", f"output={tmp_path / 'whole'}"])
    merge_command()
    assert loaded_scores(tmp_path / "whole") == pytest.approx(before, abs=1e-5)
    assert "library_name: transformers" in (tmp_path / "whole" / "README.md").read_text()
    with pytest.raises(SystemExit, match="2"):
        merge_command()
    assert "already exists" in capsys.readouterr().err


def test_a_merge_that_changes_scores_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, folder = exported(tmp_path)
    right = lora.merge

    def wrong(adapted: PeftModel) -> Any:
        network = right(adapted)
        network.classifier.weight.data *= 3
        return network

    monkeypatch.setattr(lora, "merge", wrong)
    with pytest.raises(FiglangError, match=r"merging changes a score by .*; nothing was written"):
        merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")
    assert not (tmp_path / "whole").exists()


@pytest.mark.parametrize(
    ("format", "kind"), [("pair", "lora"), ("joint", "rslora"), ("dual", "dora"), ("causal", "lora")]
)
def test_a_merge_may_change_scores_by_what_float32_rounds(
    tmp_path: Path, format: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = exported(tmp_path, format, FORMATS[format], kind)
    monkeypatch.setattr(merging, "TOLERANCE", -1.0)  # so that the rounding decides
    before = merging.scores_of(checkpoint.load_unmerged(str(folder)), ITEMS)
    merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")
    whole = checkpoint.load(str(tmp_path / "whole"))
    assert whole.network.dtype == torch.float32
    assert merging.scores_of(whole, ITEMS) == pytest.approx(before, abs=1e-5)


def test_a_merge_that_changes_scores_by_more_than_rounding_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = exported(tmp_path)
    right = lora.merge

    def wrong(adapted: PeftModel) -> Any:
        network = right(adapted)
        network.classifier.weight.data *= 1 + 1e-4
        return network

    monkeypatch.setattr(lora, "merge", wrong)
    monkeypatch.setattr(merging, "TOLERANCE", -1.0)
    with pytest.raises(
        FiglangError,
        match=r"merging changes a score by .*, but float32 rounds by only .*; nothing was written",
    ):
        merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")


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
    assert not getattr(loaded.network, "is_quantized", False)
    assert loaded.network.dtype == torch.float32
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-2)
    merging.merge(checkpoint.load_unmerged(str(tmp_path / "model")), ITEMS, tmp_path / "whole")
    assert loaded_scores(tmp_path / "whole") == pytest.approx(loaded_scores(tmp_path / "model"), abs=1e-5)
