"""Tiny networks with trained adapters, exported and read back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel

from figlang.config import ModelConfig, PeftConfig
from figlang.evaluation.choosing import predict
from figlang.models import adapters, calibrated, checkpoint, lora, networks
from figlang.models.below import weights_sha256, within
from figlang.models.manifest import Manifest
from figlang.release import card
from figlang.scoring.encode import Encoder
from figlang.scoring.head import scorer
from figlang.types import Item, Split
from tests.models.test_checkpoint import DOCUMENT, ITEM, TEXTS

ITEMS = Split(
    name="tiny",
    items=(ITEM, Item("b", "a", "The room was an igloo", ITEM.options, 1)),
    source="here",
    sha256="0" * 64,
)
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


def texts(tokenizer: Any, format: str) -> calibrated.Given:
    """What adapters that begin with texts read."""
    rows = [{"input_ids": tokenizer(text)["input_ids"]} for text in [*TEXTS, " ".join(TEXTS)]]
    if format == "pair":
        rows = [{**row, "token_type_ids": [0] * len(row["input_ids"])} for row in rows]
    return calibrated.Given(lambda: rows)


def trained(
    model: ModelConfig, format: str, peft: PeftConfig, options: int = 2
) -> tuple[PeftModel, Any, Manifest]:
    """Adapters with weights that matter, their tokenizer and manifest."""
    adapted, tokenizer, manifest = begun(model, format, peft, options)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name or "vera_lambda_b" in name:
                parameter.normal_(std=0.1)
            if "ia3_l" in name:
                parameter.normal_(1.0, 0.3)
    return adapted.eval(), tokenizer, manifest


def begun(
    model: ModelConfig, format: str, peft: PeftConfig, options: int = 2
) -> tuple[PeftModel, Any, Manifest]:
    """New adapters, their tokenizer and manifest."""
    torch.manual_seed(2)
    if format == "causal":
        network, tokenizer = networks.causal(model, "", TEXTS)
        kept: list[str] = []
    else:
        network, tokenizer, new = networks.begin(model, format, TEXTS, options)
        heads = networks.head_modules(network)
        kept = [*heads, *(name for name in new if not within(name, heads))]
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
    manifest = replace(manifest, base_precision="float32", base_sha256=weights_sha256(network, kept))
    adapted = lora.adapt(network, peft, kept, where, None, texts(tokenizer, format))
    return adapted, tokenizer, manifest


def scores(network: Any, tokenizer: Any, manifest: Manifest) -> list[float]:
    if manifest.format == "causal":
        device = next(network.parameters()).device  # bitsandbytes puts a network on a GPU if there is one
        ids = tokenizer(" ".join(TEXTS), return_tensors="pt").input_ids.to(device)
        with torch.inference_mode():
            return [float(network(input_ids=ids).logits.log_softmax(-1).max())]
    encoder = Encoder(tokenizer, manifest.format, manifest.text, manifest.max_length)
    return list(predict(network, scorer(manifest.format, manifest.scale), encoder, [ITEM])[0].scores)


def exported(
    tmp_path: Path, format: str = "pair", architecture: str = "bert", kind: str = "lora"
) -> tuple[list[float], Path]:
    model = base(tmp_path / "base", format, architecture)
    adapted, tokenizer, manifest = trained(
        model, format, PeftConfig(name="ia3") if kind == "ia3" else PeftConfig(name=kind, dropout=0.0)
    )
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model", card.card(manifest, DOCUMENT))
    return before, tmp_path / "model"


def loaded_scores(folder: Path) -> list[float]:
    loaded = checkpoint.load(str(folder))
    return scores(loaded.network, loaded.tokenizer, loaded.manifest)
