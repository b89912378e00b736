"""Adapters of every kind that plain peft writes score as they do in plain peft."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftType, get_peft_model
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING

from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.evaluation.how import origin
from figlang.models import adapter_kinds, checkpoint, networks
from figlang.scoring.adapted import has_layers
from figlang.scoring.tree.causal import CausalScorer
from tests import causal_models
from tests.models.test_checkpoint import TEXTS
from tests.sampled import sampled

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),  # peft's advice about its kinds
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
LAYERS: dict[str, Any] = {"target_modules": ["q_proj", "v_proj"]}
PROMPT: dict[str, Any] = {"num_virtual_tokens": 3}
MERGED: dict[str, dict[str, Any]] = {
    "ADALORA": LAYERS | {"total_step": 10},
    "BOFT": LAYERS,
    "C3A": LAYERS | {"block_size": 8},
    "DELORA": LAYERS,
    "FOURIERFT": LAYERS | {"n_frequency": 20},
    "HRA": LAYERS,
    "IA3": LAYERS | {"feedforward_modules": []},
    "LN_TUNING": {"target_modules": ["input_layernorm"]},
    "LOHA": LAYERS,
    "LOKR": LAYERS,
    "MISS": LAYERS | {"r": 4},
    "OFT": LAYERS,
    "OSF": LAYERS,
    "RANDLORA": LAYERS,
    "ROAD": LAYERS | {"group_size": 8},
    "SHIRA": LAYERS | {"r": 4},
    "TRAINABLE_TOKENS": {"token_indices": [5, 6, 40], "target_modules": ["embed_tokens"]},
    "VBLORA": LAYERS | {"vector_length": 8, "num_vectors": 16, "save_only_topk_weights": False},
    "VERA": LAYERS,
    "WAVEFT": LAYERS | {"n_frequency": 20},
}
APART: dict[str, dict[str, Any]] = {
    "ADAPTION_PROMPT": {"adapter_len": 3, "adapter_layers": 1},
    "CPT": {"cpt_token_ids": [3, 4, 5], "cpt_mask": [1, 1, 1], "cpt_tokens_type_mask": [1, 1, 1]},
    "PREFIX_TUNING": PROMPT,
    "PROMPT_TUNING": PROMPT,
    "P_TUNING": PROMPT | {"encoder_hidden_size": 16},
}


def written(network: Any, folder: Path, kind: str, task: str, **settings: Any) -> Any:
    """Random adapters of one kind over a network in a folder, written by plain peft."""
    made: Any = PEFT_TYPE_TO_CONFIG_MAPPING[PeftType(kind)]
    torch.manual_seed(3)
    adapted = get_peft_model(network, made(task_type=task, **settings))
    with torch.no_grad():
        for weight in adapted.parameters():
            if weight.requires_grad and weight.is_floating_point():
                weight.add_(torch.randn_like(weight) * 0.2)
    adapted.save_pretrained(folder)
    return adapted.eval()


def causal(tmp_path: Path, kind: str, settings: dict[str, Any]) -> tuple[Any, ModelConfig, Any]:
    network = causal_models.network("llama")
    network.save_pretrained(tmp_path / "base")
    causal_models.tokenizer().save_pretrained(tmp_path / "base")
    below = causal_models.network("llama")
    network.config._name_or_path = network.name_or_path = str(tmp_path / "base")
    adapted = written(network, tmp_path / "adapters", kind, "CAUSAL_LM", **settings)
    return adapted, ModelConfig(name_or_path=str(tmp_path / "adapters"), family="causal"), below


@torch.no_grad()
def expected(network: Any, ids: list[int], start: int) -> list[float]:
    """As `causal_models.values`; peft leaves the logits of a prompt before those of the input."""
    rows = torch.tensor([ids[:-1]])
    logits = network(input_ids=rows, attention_mask=torch.ones_like(rows)).logits[0, -len(ids) + 1 :]
    logs = logits.log_softmax(-1)
    return [float(logs[place - 1, ids[place]]) for place in range(start, len(ids))]


# figlang merges every kind of MERGED in one way. These change weights, activations, norms, and embeddings.
VARIED = [(kind, MERGED[kind]) for kind in ("ADALORA", "IA3", "LN_TUNING", "OFT", "TRAINABLE_TOKENS", "VERA")]


@pytest.mark.parametrize(("kind", "settings"), [*sampled(MERGED.items(), *VARIED), *APART.items()])
def test_a_causal_network_scores_as_plain_peft_does(
    tmp_path: Path, kind: str, settings: dict[str, Any]
) -> None:
    adapted, model, below = causal(tmp_path, kind, settings)
    loaded = checkpoint.pretrained(model, None, str(tmp_path))
    scorer = CausalScorer(loaded.network, loaded.tokenizer)
    asked = causal_models.requests()
    moved = 0.0
    for tokens, found in zip(scorer.encoder.encode(asked)[0], scorer.score(asked).log_probs, strict=True):
        wanted = expected(adapted, tokens.ids, tokens.start)
        assert found.tolist() == pytest.approx(wanted, abs=3e-4)
        plain = causal_models.values(below, tokens.ids, tokens.start)
        moved = max(moved, *(abs(one - other) for one, other in zip(wanted, plain, strict=True)))
    assert moved > 0.01, "the adapters change the scores"
    if kind in APART and kind != "ADAPTION_PROMPT":
        assert has_layers(loaded.network)
        assert origin(loaded)["adapters"] == "apart"
    if kind in MERGED:
        assert not has_layers(loaded.network)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("POLY", "number of a task"),
        ("XLORA", "several other folders"),
        ("LILY", "all tokens of its input"),
        ("NEWER", "installed peft"),
    ],
)
def test_kinds_that_cannot_be_read_are_named(tmp_path: Path, kind: str, reason: str) -> None:
    _, model, _ = causal(tmp_path, "IA3", MERGED["IA3"])
    path = tmp_path / "adapters" / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"peft_type": kind}))
    with pytest.raises(FiglangError, match=f"holds {kind} adapters.*{reason}"):
        checkpoint.pretrained(model, None, str(tmp_path))


def test_a_learnt_prompt_that_leaves_no_place_is_one_sentence(tmp_path: Path) -> None:
    _, model, _ = causal(tmp_path, "PROMPT_TUNING", PROMPT)
    loaded = checkpoint.pretrained(model, None, str(tmp_path))
    with pytest.raises(FiglangError, match=r"3 learnt and 638 other tokens .* give max_length=637 or less"):
        loaded.network(input_ids=torch.ones(1, 638, dtype=torch.long))


def test_a_learnt_prompt_goes_on_as_plain_peft_does(tmp_path: Path) -> None:
    adapted, model, _ = causal(tmp_path, "PROMPT_TUNING", PROMPT)
    loaded = checkpoint.pretrained(model, None, str(tmp_path))
    rows = torch.tensor([[5, 6, 7, 8]])
    how: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    wanted = adapted.generate(input_ids=rows, attention_mask=torch.ones_like(rows), **how)
    assert (
        loaded.network.generate(input_ids=rows, attention_mask=torch.ones_like(rows), **how).tolist()
        == wanted.tolist()
    )
    assert wanted.shape == (1, 10)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("LORA", {"r": 4}),
        ("IA3", {"feedforward_modules": []}),
        ("VERA", {"r": 4}),
        ("LOHA", {"r": 4}),
        ("ADALORA", {"total_step": 10}),
        ("PROMPT_TUNING", PROMPT),
        ("P_TUNING", PROMPT | {"encoder_hidden_size": 16}),
    ],
)
@pytest.mark.parametrize(("task", "format"), [("SEQ_CLS", "nli"), ("FEATURE_EXTRACTION", "dual")])
def test_an_encoder_scores_as_plain_peft_does(
    tmp_path: Path, kind: str, settings: dict[str, Any], task: str, format: str
) -> None:
    torch.manual_seed(1)
    network, tokenizer = networks.build(ModelConfig(init="tiny", architecture="bert"), format, TEXTS, 3)
    network.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    network.name_or_path = str(tmp_path / "base")
    inputs = tokenizer(list(TEXTS), return_tensors="pt", padding=True)
    layers = {} if "num_virtual_tokens" in settings else {"target_modules": ["query", "value"]}
    name = "logits" if format == "nli" else "last_hidden_state"
    with torch.no_grad():
        before = getattr(network.eval()(**inputs), name)
        adapted = written(network, tmp_path / "adapters", kind, task, **settings, **layers)
        wanted = getattr(adapted(**inputs), name)
        if format == "dual":
            wanted = wanted[:, -before.shape[1] :]
        loaded = checkpoint.load(str(tmp_path / "adapters"))
        found = getattr(loaded.network(**inputs), name)
    assert loaded.manifest.format == format
    assert found.flatten().tolist() == pytest.approx(wanted.flatten().tolist(), abs=1e-5)
    assert float((wanted - before).abs().max()) > 1e-3, "the adapters change the scores"


def test_every_kind_that_is_trained_has_settings_of_its_own_or_is_lora() -> None:
    """A kind without settings would be trained as LoRA under its own name."""
    (spec,) = (spec for spec in fields(PeftConfig) if spec.name == "name")
    built, common = causal_models.network("llama"), {"revision": None}
    made = {
        name: adapter_kinds.fresh(PeftConfig(name), "all-linear", [], built, common)
        for name in spec.metadata["choices"]
        if name != "none"
    }
    assert {name for name, settings in made.items() if settings is None} == set(adapter_kinds.LORA)
    assert len({type(settings) for settings in made.values()}) == len(made) - len(adapter_kinds.LORA) + 1
    unknown = PeftConfig("ia3")
    unknown.name = "hra"
    with pytest.raises(AssertionError, match="no settings for peft=hra"):
        adapter_kinds.fresh(unknown, "all-linear", [], built, common)
