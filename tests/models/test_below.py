"""The network below adapters: where it cannot be had, one line says how a copy of it is given."""

import json
from pathlib import Path

import pytest
from peft import LoraConfig, get_peft_model
from transformers import AutoModel

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import checkpoint
from tests.models.trained import base, exported

# By peft 0.21, when adapters are made without figlang.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
GONE = "figlang-tests/nobody-has-this"


def elsewhere(adapters: Path) -> None:
    """Let adapters name a network that nobody has."""
    settings = adapters / "adapter_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"base_model_name_or_path": GONE}))


def of_another_tool(folder: Path) -> tuple[Path, Path]:
    """Adapters as peft alone writes them, without a config.json, and the network below them."""
    below = folder / "below"
    base(below, "dual", "bert")
    network = AutoModel.from_pretrained(below)
    settings = LoraConfig(task_type="FEATURE_EXTRACTION", target_modules=["query"])
    get_peft_model(network, settings).save_pretrained(folder / "adapters")
    assert not (folder / "adapters" / "config.json").exists()
    return folder / "adapters", below


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("tool", ["figlang", "another"])
def test_a_network_that_cannot_be_had_is_asked_for_by_model_base(tmp_path: Path, tool: str) -> None:
    adapters = exported(tmp_path)[1] if tool == "figlang" else of_another_tool(tmp_path)[0]
    elsewhere(adapters)
    with pytest.raises(FiglangError, match=rf"lie over {GONE}, .* by model\.base=FOLDER") as error:
        checkpoint.load(str(adapters))
    assert "\n" not in str(error.value)


def test_adapters_of_other_tools_take_their_network_from_elsewhere(tmp_path: Path) -> None:
    adapters, below = of_another_tool(tmp_path)
    before = checkpoint.load(str(adapters)).fingerprint
    elsewhere(adapters)
    assert checkpoint.load(str(adapters), ModelConfig(base=str(below))).fingerprint == before
    with pytest.raises(FiglangError) as error:
        checkpoint.load(str(adapters), ModelConfig(base=GONE))
    assert "model.base=FOLDER" not in str(error.value)  # it was given


def test_a_network_that_is_there_and_damaged_is_not_asked_for(tmp_path: Path) -> None:
    _, adapters = exported(tmp_path)
    (tmp_path / "base" / "model.safetensors").write_bytes(b"")
    with pytest.raises(FiglangError, match="cannot load model") as error:
        checkpoint.load(str(adapters))
    assert "model.base" not in str(error.value)
