"""Model folders that are wrong on purpose end in one line, in time."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from transformers import Gemma3TextConfig

from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.evaluation import generation
from figlang.machine.limits import within
from figlang.models import checkpoint, lora, networks, soundness
from tests import causal_models
from tests.models.test_checkpoint import TEXTS, exported
from tests.models.trained import exported as adapters


def change(path: Path, **entries: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def refused(folder: Path) -> str:
    with pytest.raises(FiglangError) as error:
        checkpoint.load(str(folder))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "entry",
    [
        {"scale": float("nan")},
        {"scale": "20"},
        {"scale": None},
        {"options": 2.5},
        {"max_length": True},
        {"name": ["x"]},
        {"format": 1},
        {"text": "loud"},
        {"seed": "0"},
        {"scoring": ["sum"]},
        {"vectors": {"pooling": ["mean"], "similarity": "cosine", "prompt": "", "lower": False, "more": 1}},
        {"vectors": {"pooling": [["mean"]]}},
        {"base_sha256": 5},
        {"unknown": 1},
    ],
)
def test_a_recipe_of_wrong_types(entry: dict[str, Any], tmp_path: Path) -> None:
    exported(tmp_path / "model", "dual")
    change(tmp_path / "model" / "figlang.json", **entry)
    assert "figlang.json or config.json cannot be read" in refused(tmp_path / "model")


@pytest.mark.parametrize(
    "entry",
    [
        {"r": "8"},
        {"r": 0},
        {"lora_alpha": float("inf")},
        {"target_modules": 5},
        {"target_modules": [["query"]]},
        {"rank_pattern": {"query": "x"}},
        {"use_dora": "no"},
        {"modules_to_save": "classifier"},
        {"base_model_name_or_path": 7},
    ],
)
def test_settings_of_adapters_of_wrong_types(entry: dict[str, Any], tmp_path: Path) -> None:
    _, folder = adapters(tmp_path)
    change(folder / "adapter_config.json", **entry)
    assert "its adapter_config.json cannot be read" in refused(folder)


def test_settings_that_the_installed_peft_does_not_read_are_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, folder = adapters(tmp_path)
    caplog.clear()
    assert lora.settings_of(str(folder), None) is not None
    assert not caplog.messages, "peft knows what it wrote"
    change(folder / "adapter_config.json", entry_of_next_year=True)
    for _ in range(2):
        assert lora.settings_of(str(folder), None) is not None
    (said,) = caplog.messages
    assert str(folder) in said
    assert "entry_of_next_year" in said


def test_a_pattern_that_blows_up_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, folder = adapters(tmp_path)
    monkeypatch.setattr(lora, "PATIENCE", 0.5)
    change(folder / "adapter_config.json", target_modules=r"(([a-z.0-9_]+)+)+!")
    started = time.monotonic()
    assert "a pattern of its adapter_config.json takes more than 0.5 seconds" in refused(folder)
    assert time.monotonic() - started < 60
    change(folder / "adapter_config.json", target_modules="(query")
    assert "the pattern '(query' of its adapter_config.json cannot be read" in refused(folder)


@pytest.mark.parametrize(
    "name",
    [
        *("num_hidden_layers", "n_layers", "num_layers"),
        *("hidden_size", "vocab_size", "intermediate_size", "type_vocab_size", "num_attention_heads"),
    ],
)
def test_sizes_that_the_files_cannot_hold_are_not_built(name: str, tmp_path: Path) -> None:
    exported(tmp_path / "model", "dual")
    for size in (10**9, 10**12):
        change(tmp_path / "model" / "config.json", **{name: size})
        assert f"its config.json has {name}={size}, but its files hold" in refused(tmp_path / "model")


def test_adapters_hold_no_vocabulary(tmp_path: Path) -> None:
    # Adapters of Gemma 3 270M have 4 million weights, its vocabulary has 168 million.
    save_file({"lora_A": torch.zeros(4, 4)}, tmp_path / "adapter_model.safetensors")
    config = Gemma3TextConfig(vocab_size=262144, hidden_size=640)
    soundness.check_depth(str(tmp_path), config, adapters=True)
    with pytest.raises(FiglangError, match="vocab_size=262144, but its files hold"):
        soundness.check_depth(str(tmp_path), config)


def test_the_network_below_adapters_may_be_larger_than_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = adapters(tmp_path)
    checked = []
    monkeypatch.setattr(soundness, "_check_sizes", lambda source, *_: checked.append(source))
    checkpoint.load(str(folder))
    assert str(folder) not in checked


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_named(value: float, tmp_path: Path) -> None:
    network, tokenizer = networks.build(ModelConfig(init="tiny"), "dual", TEXTS, 2)
    with torch.no_grad():
        network.encoder.layer[1].output.dense.bias[3] = value
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert "its weights encoder.layer.1.output.dense.bias are not all finite numbers" in refused(tmp_path)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "takes more than 0.5 seconds",
        ),
        ("{{ raise_exception('no') }}", "fails"),
        ("{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}", "fails"),
        ("{{ ''.__class__.__mro__ }}", "fails"),
        ("{% if %}", "fails"),
        ("{{ messages[7].content.x }}", "fails"),
    ],
)
def test_a_chat_template_ends_in_time(template: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "PATIENCE", 0.5)
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = template
    manifest = checkpoint.causal_manifest(
        ModelConfig(name="chat", family="causal"), checkpoint.ScoringConfig(), bos="none"
    )
    loaded = checkpoint.Loaded(causal_models.network("gpt2"), tokenizer, manifest)
    with pytest.raises(FiglangError, match=rf"chat: its chat template {message}") as error:
        generation.converse(loaded, ["Is it hot?"], SamplingConfig(max_tokens=2))
    assert "\n" not in str(error.value)


def test_what_ends_in_time_is_left_alone() -> None:
    with within(0.2, "nothing"):
        pass
    time.sleep(0.3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", [0, 5, 1030])
def test_one_weight_that_is_not_finite_is_found(dtype: torch.dtype, wrong: float, place: int) -> None:
    network = nn.Module()
    weights = torch.zeros(1031)
    network.register_parameter("fine", nn.Parameter(weights.to(dtype), requires_grad=False))
    network.register_parameter("empty", nn.Parameter(torch.zeros(0), requires_grad=False))
    soundness.check_weights("here", network)
    weights = weights.clone()
    # Of this format of 8 bits only NaN is not finite.
    weights[place] = float("nan") if dtype.itemsize == 1 else wrong
    network.register_parameter("odd", nn.Parameter(weights.to(dtype), requires_grad=False))
    with pytest.raises(FiglangError, match="here: its weights odd are not all finite"):
        soundness.check_weights("here", network)
