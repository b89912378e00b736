"""Exports: loaded by figlang and by plain transformers, never half-written; adapters merged without loss."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from figlang.config import ModelConfig, PeftConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation.choosing import predict
from figlang.models import checkpoint, lora, networks
from figlang.models import manifest as manifests
from figlang.models.manifest import Manifest
from figlang.release import card
from figlang.scoring.encode import Encoder, word
from figlang.scoring.head import scorer
from figlang.types import Item
from tests import cards

ITEM = Item(
    "a", "a", "The room was an oven", ("It was hot.", "It was cold and rather dark in every corner."), 0
)
TEXTS = [ITEM.context, *ITEM.options]


DOCUMENT = {
    "metrics": {"items": 1, "hidden": 0, "ties": 0, "accuracy_by": {}},
    "data": {"train": {"sha256": "0", "items": 1}, "validation": {"sha256": "0", "items": 1}},
    "training": {
        "items": 1,
        "epochs": 1,
        "steps": 1,
        "precision": "32-true",
        "seconds": 1.0,
        "tokens_per_second": 1200.0,
        "peak_memory_mb": 900.0,
        "peak_share": 0.25,
        "exported_epoch": 1,
        "selection": "none",
    },
    "health": [],
    "signature": "",
    "command": "python train.py",
}


def exported(folder: Path, format: str, architecture: str = "bert") -> tuple[tuple[float, ...], Manifest]:
    torch.manual_seed(0)
    model = ModelConfig(init="tiny", architecture=architecture)
    network, tokenizer = networks.build(model, format, TEXTS, 2)
    encoder = Encoder(tokenizer, format, "clean", 80)
    manifest = Manifest(
        "tiny", "nothing", "contrastive", format, "clean", 80, 20.0, 2, "figqa_sample", "0" * 12, 0
    )
    checkpoint.export(network, tokenizer, manifest, folder)
    return predict(network, scorer(format, 20.0), encoder, [ITEM])[0].scores, manifest


def scores_of(loaded: checkpoint.Loaded) -> tuple[float, ...]:
    manifest = loaded.manifest
    encoder = Encoder(loaded.tokenizer, manifest.format, manifest.text, manifest.max_length)
    return predict(loaded.network, scorer(manifest.format, manifest.scale), encoder, [ITEM])[0].scores


@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta-v2", "modernbert"])
@pytest.mark.parametrize("format", ["pair", "joint", "dual"])
def test_an_export_scores_as_the_network_did(tmp_path: Path, format: str, architecture: str) -> None:
    before, manifest = exported(tmp_path / "model", format, architecture)
    loaded = checkpoint.load(str(tmp_path / "model"))
    assert loaded.manifest == manifest
    assert scores_of(loaded) == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("format", ["pair", "joint", "dual"])
def test_the_lines_on_the_card_give_the_same_scores(tmp_path: Path, format: str) -> None:
    before, manifest = exported(tmp_path / "model", format)
    context, *options = (word(text, "clean") for text in TEXTS)
    found = cards.scores(card.card(manifest, DOCUMENT), tmp_path / "model", context, options)
    assert found == pytest.approx(before, abs=1e-5)


def test_a_folder_without_figlang_json_is_taken_by_its_class(tmp_path: Path) -> None:
    before, _ = exported(tmp_path / "model", "pair")
    (tmp_path / "model" / "figlang.json").unlink()
    loaded = checkpoint.load(str(tmp_path / "model"))
    assert loaded.manifest.format == "pair"
    assert scores_of(loaded) == pytest.approx(before, abs=1e-5)


def test_a_folder_above_runs_names_one_of_them(tmp_path: Path) -> None:
    run = tmp_path / "minilm" / "seed0" / "model"
    run.mkdir(parents=True)
    with pytest.raises(FiglangError, match=r"minilm holds no model.* of a run or a checkpoint$"):
        manifests.read(str(tmp_path / "minilm"), "runs/minilm", None)
    (run / "figlang.json").write_text("{}")
    with pytest.raises(FiglangError, match=r"holds no model.*, for example runs/minilm/seed0$"):
        manifests.read(str(tmp_path / "minilm"), "runs/minilm", None)


def test_a_network_of_another_kind_without_figlang_json_is_refused(tmp_path: Path) -> None:
    exported(tmp_path / "model", "joint")
    (tmp_path / "model" / "figlang.json").unlink()
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(
        json.dumps(config | {"architectures": ["BertForTokenClassification"]})
    )
    with pytest.raises(
        FiglangError, match=r"BertForTokenClassification has no figlang\.json, .*scoring=pll$"
    ):
        checkpoint.load(str(tmp_path / "model"))
    (tmp_path / "model" / "config.json").write_text(
        json.dumps({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]})
    )
    with pytest.raises(FiglangError, match=r"train it first, or take another model$"):
        checkpoint.load(str(tmp_path / "model"))


@pytest.mark.parametrize("offline", [True, False])  # as the environment says, or as the hub's silence does
@pytest.mark.parametrize("init", ["tiny", "pretrained"])
def test_a_tiny_encoder_without_files_says_which_scoring_needs_none(
    monkeypatch: pytest.MonkeyPatch, init: str, offline: bool
) -> None:
    """Only the files of an encoder say how it is asked, and debug=fast alone promises to need none."""

    def unreached(*_: object) -> None:
        raise OSError("no connection")

    monkeypatch.setattr(manifests, "stored", unreached)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    monkeypatch.setattr("figlang.files.hub._silence", lambda _: "no connection")
    model = ModelConfig(name="roberta", name_or_path="roberta-large", architecture="roberta", init=init)
    with pytest.raises(FiglangError, match=r"roberta-large.*no connection") as told:
        checkpoint.pretrained(model, None, "cache")
    assert ("scoring=pll" in str(told.value)) is (init == "tiny")
    for kind in ("pll", "nli") if init == "tiny" else ():
        assert checkpoint.pretrained(
            model, ScoringConfig(name=kind, kind=kind), "cache"
        ).network.num_parameters()


@pytest.mark.parametrize("content", ["{", '{"format": "pair"}', "[]"])
def test_a_broken_figlang_json_is_one_sentence(tmp_path: Path, content: str) -> None:
    exported(tmp_path / "model", "pair")
    (tmp_path / "model" / "figlang.json").write_text(content)
    with pytest.raises(FiglangError, match=r"figlang.json or config.json cannot be read"):
        checkpoint.load(str(tmp_path / "model"))


@pytest.mark.parametrize(
    "broken",
    [
        {"format": "evil"},
        {"max_length": "80"},
        {"max_length": 0},
        {"options": None},
        {"scale": float("nan")},
        {"scale": 0},
        {"scale": "20"},
        {"seed": [1]},
        {"scoring": {"name": 3, "nowhere": 1}},
        {"name": None},
        {"nowhere": 1},
    ],
)
def test_figlang_json_with_values_that_cannot_be_is_one_sentence(
    tmp_path: Path, broken: dict[str, object]
) -> None:
    exported(tmp_path / "model", "pair")
    path = tmp_path / "model" / "figlang.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | broken))
    with pytest.raises(FiglangError, match=r"its figlang\.json or config\.json cannot be read"):
        checkpoint.load(str(tmp_path / "model"))


def test_broken_weights_are_one_sentence(tmp_path: Path) -> None:
    exported(tmp_path / "model", "pair")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(FiglangError, match="cannot load model"):
        checkpoint.load(str(tmp_path / "model"))


@pytest.mark.parametrize(
    "broken", [{"hidden_size": -4}, {"hidden_size": "wide"}, {"num_attention_heads": 0}, {"id2label": 3}]
)
def test_sizes_that_no_network_has_are_one_sentence(tmp_path: Path, broken: dict[str, object]) -> None:
    exported(tmp_path / "model", "pair")
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | broken))
    with pytest.raises(FiglangError, match="cannot load model") as error:
        checkpoint.load(str(tmp_path / "model"))
    assert "\n" not in str(error.value)
    (tmp_path / "model" / "figlang.json").unlink()
    with pytest.raises(FiglangError, match=r"cannot load model|config\.json cannot be read"):
        checkpoint.load(str(tmp_path / "model"))


def test_want_of_memory_is_no_fault_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported(tmp_path / "model", "pair")

    def full(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("transformers.AutoModelForMultipleChoice.from_pretrained", full)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        checkpoint.load(str(tmp_path / "model"))


def test_an_interrupted_export_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported(tmp_path / "model", "pair")
    before = (tmp_path / "model" / "model.safetensors").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("transformers.PreTrainedTokenizerFast.save_pretrained", full)
    with pytest.raises(OSError, match="no space"):
        exported(tmp_path / "model", "pair")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("format", ["pair", "dual"])
@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta-v2"])
def test_lora_trains_the_head_and_merges_without_loss(format: str, architecture: str) -> None:
    torch.manual_seed(0)
    network, tokenizer = networks.build(ModelConfig(init="tiny", architecture=architecture), format, TEXTS, 2)
    heads = networks.head_modules(network)
    assert bool(heads) == (format == "pair")
    adapted = lora.adapt(network, PeftConfig(name="lora", dropout=0.0), heads, "base", None)
    trained = {name for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    assert all(any(f".{head}." in name for name in trained) for head in heads)
    assert all("lora_" in name or "modules_to_save" in name for name in trained)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    encoder = Encoder(tokenizer, format, "clean", 80)
    before = predict(adapted, scorer(format, 20.0), encoder, [ITEM])[0].scores
    merged = lora.merge(adapted)
    assert predict(merged, scorer(format, 20.0), encoder, [ITEM])[0].scores == pytest.approx(before, abs=1e-4)


def test_the_recipe_survives_the_file(tmp_path: Path) -> None:
    _, manifest = exported(tmp_path / "model", "dual")
    assert json.loads((tmp_path / "model" / "figlang.json").read_text()) == dataclasses.asdict(manifest)
