"""Plain LoRA is merged without peft as peft merges it, and all else is left to peft."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, PreTrainedModel

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import low_rank, weights
from tests.models.trained import exported


def changed(folder: Path, **entries: Any) -> None:
    """Change entries of the adapter_config.json."""
    file = folder / "adapter_config.json"
    content = json.loads(file.read_text(encoding="utf-8")) | entries
    file.write_text(json.dumps(content), encoding="utf-8")


def opened(folder: Path, dtype: torch.dtype = torch.float32, causal: bool = False) -> PreTrainedModel:
    kind = AutoModelForCausalLM if causal else AutoModel
    return weights.load(ModelConfig(name_or_path=str(folder)), kind, dtype, {}, "")[0]


@pytest.mark.parametrize(
    ("dtype", "stored", "below"),
    [
        ("float32", "float32", "float32"),
        ("float32", "bfloat16", "float32"),
        ("float32", "float16", "bfloat16"),
        ("bfloat16", "float32", "float32"),
        ("bfloat16", "float32", "bfloat16"),
    ],
)
@pytest.mark.parametrize(
    ("format", "architecture"), [("dual", "bert"), ("dual", "mpnet"), ("causal", "llama")]
)
def test_weights_are_those_of_peft_bit_for_bit(
    tmp_path: Path, format: str, architecture: str, dtype: str, stored: str, below: str
) -> None:
    _, folder = exported(tmp_path, format, architecture)
    file = folder / "adapter_model.safetensors"
    save_file({name: weight.to(getattr(torch, stored)) for name, weight in load_file(file).items()}, file)
    # The weights below are read in the format in which they were in the training.
    manifest = json.loads((folder / "figlang.json").read_text(encoding="utf-8"))
    manifest |= {"base_precision": below, "base_sha256": None}
    (folder / "figlang.json").write_text(json.dumps(manifest), encoding="utf-8")
    with patch.object(weights, "_attached", side_effect=AssertionError("peft is needed")):
        ours = opened(folder, getattr(torch, dtype), format == "causal")
    with patch.object(low_rank, "settings", lambda *_: None):
        theirs = opened(folder, getattr(torch, dtype), format == "causal")
    expected = theirs.state_dict()
    assert ours.state_dict().keys() == expected.keys()
    for name, weight in ours.state_dict().items():
        assert weight.dtype == expected[name].dtype
        assert torch.equal(weight, expected[name]), name
    assert [one.requires_grad for one in ours.parameters()] == [
        one.requires_grad for one in theirs.parameters()
    ]
    assert ours.training is theirs.training
    assert ours.config.to_dict() == theirs.config.to_dict()
    kind = AutoModelForCausalLM if format == "causal" else AutoModel
    base = kind.from_pretrained(tmp_path / "base").state_dict()
    assert any(not torch.equal(weight.float(), base[name]) for name, weight in expected.items())


@pytest.mark.parametrize(
    "entries",
    [
        {"use_dora": True},
        {"use_rslora": True},
        {"rank_pattern": {"key": 4}},
        {"alpha_pattern": {"key": 4}},
        {"modules_to_save": ["pooler"]},
        {"bias": "all"},
        {"lora_bias": True},
        {"init_lora_weights": "pissa"},
        {"fan_in_fan_out": True},
        {"target_modules": "all-linear"},
        {"target_modules": []},
        {"peft_type": "IA3"},
        {"r": 0},
        {"r": "8"},
        {"lora_alpha": float("inf")},
        {"base_model_name_or_path": ""},
        {"an_entry_of_a_later_peft": 1},
    ],
)
def test_what_is_not_plain_is_left_to_peft(tmp_path: Path, entries: dict[str, Any]) -> None:
    _, folder = exported(tmp_path, "dual")
    assert low_rank.settings(str(folder), None) is not None
    changed(folder, **entries)
    assert low_rank.settings(str(folder), None) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '"LORA"'])
def test_settings_that_cannot_be_read_are_left_to_peft(tmp_path: Path, content: str) -> None:
    assert low_rank.settings(str(tmp_path), None) is None
    (tmp_path / "adapter_config.json").write_text(content, encoding="utf-8")
    assert low_rank.settings(str(tmp_path), None) is None


@pytest.mark.parametrize(
    "fault", ["lacks one", "has another", "shape", "rank", "float64", "nan", "no file", "damaged"]
)
def test_weights_that_do_not_fit_change_nothing(tmp_path: Path, fault: str) -> None:
    _, folder = exported(tmp_path, "dual")
    file = folder / "adapter_model.safetensors"
    stored = load_file(file)
    name = next(iter(stored))
    match fault:
        case "lacks one":
            del stored[name]
        case "has another":
            stored["another"] = stored[name].clone()
        case "shape":
            stored[name] = stored[name][:, :-1].contiguous()
        case "rank":  # all of one rank, which is not that of the settings
            changed(folder, r=2 * stored[name].shape[0])
        case "float64":
            stored[name] = stored[name].double()
        case "nan":
            stored[name][0, 0] = float("nan")
    save_file(stored, file)
    if fault == "no file":
        file.unlink()
    if fault == "damaged":
        file.write_bytes(file.read_bytes()[:100])
    network = AutoModel.from_pretrained(tmp_path / "base")
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    settings = low_rank.settings(str(folder), None)
    assert settings is not None
    assert not low_rank.merge(network, settings, str(folder), None, torch.bfloat16)
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())
    if fault != "float64":  # which peft reads
        with pytest.raises(FiglangError):  # peft says what is wrong
            opened(folder)


def test_a_sum_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    _, folder = exported(tmp_path, "dual")
    file = folder / "adapter_model.safetensors"
    save_file({name: weight * 1e30 for name, weight in load_file(file).items()}, file)
    with pytest.raises(FiglangError, match="cannot be merged"):
        opened(folder)
    with (
        patch.object(low_rank, "settings", lambda *_: None),
        pytest.raises(FiglangError, match="cannot be merged"),
    ):
        opened(folder)
