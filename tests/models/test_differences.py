"""Adapters that begin with a part of the weights are exported for the network as it was."""

import json
from pathlib import Path

import pytest

from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.models import checkpoint
from tests.models.trained import FORMATS, base, loaded_scores, scores, trained


@pytest.mark.parametrize("init", ["pissa", "olora", "corda", "gaussian"])
@pytest.mark.parametrize("format", ["pair", "causal"])
def test_a_folder_scores_as_the_trained_network_did(tmp_path: Path, format: str, init: str) -> None:
    """Head included, over the network in its folder, merged and unmerged."""
    model = base(tmp_path / "base", format, FORMATS[format])
    settings = PeftConfig(name="lora", r=4, alpha=8, init=init)
    adapted, tokenizer, manifest = trained(model, format, settings)
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-4)
    apart = checkpoint.load_unmerged(str(tmp_path / "model"))
    assert scores(apart.network, apart.tokenizer, apart.manifest) == pytest.approx(before, abs=1e-4)
    written = json.loads((tmp_path / "model" / "adapter_config.json").read_text())
    assert written["r"] == (4 if init == "gaussian" else 8)
    assert written["lora_alpha"] / written["r"] == 2


@pytest.mark.parametrize("init", ["pissa", "olora", "corda"])
def test_a_network_beside_its_adapters_is_the_one_of_before(tmp_path: Path, init: str) -> None:
    model = ModelConfig(init="tiny", architecture="bert")
    adapted, tokenizer, manifest = trained(model, "pair", PeftConfig(name="lora", r=4, init=init))
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-4)


def test_layers_have_the_ranks_of_the_pattern(tmp_path: Path) -> None:
    model = ModelConfig(init="tiny", architecture="bert")
    settings = PeftConfig(name="lora", r=4, rank_pattern={"query": 2}, alpha_pattern={"query": 6})
    adapted, tokenizer, manifest = trained(model, "pair", settings)
    ranks = {
        name.split(".lora_A")[0].rpartition(".")[2]: weight.shape[0]
        for name, weight in adapted.named_parameters()
        if ".lora_A." in name
    }
    assert (ranks["query"], ranks["value"]) == (2, 4)
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "dora", "init": "pissa"}, "is for new adapters of peft=lora"),
        ({"name": "lora", "init": "olora", "stack": "continue"}, "is for new adapters of peft=lora"),
        ({"name": "qlora", "init": "eva"}, "peft.init=eva is for new adapters of peft=lora"),
        ({"name": "lora", "rank_pattern": {"query": 0}}, "with a number above 0 each"),
        ({"name": "lora", "alpha_pattern": "query"}, "with a number above 0 each"),
        ({"name": "none", "lr_ratio": 16.0}, "changes nothing under peft=none"),
        ({"name": "lora", "init": "nothing"}, "is not a choice"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        PeftConfig(**settings)  # type: ignore[arg-type]
