"""What adapters are by definition that begin with texts of the training."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn

from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.models import calibrated, checkpoint, lora, networks
from figlang.scoring.encode import Encoded
from tests.models.test_checkpoint import TEXTS
from tests.models.trained import FORMATS, base, begun, loaded_scores, scores, texts, trained

KINDS = [("pair", "bert"), ("causal", "llama"), ("causal", "gpt2")]


def model_of(format: str, architecture: str) -> ModelConfig:
    family = "causal" if format == "causal" else "encoder"
    return ModelConfig(init="tiny", architecture=architecture, family=family)


def layers_of(adapted: PeftModel) -> dict[str, LoraLayer]:
    named = adapted.get_base_model().named_modules()
    return {name: layer for name, layer in named if isinstance(layer, LoraLayer)}


def inputs_of(network: nn.Module, name: str, tokenizer: Any, format: str) -> Tensor:
    """What a layer reads of all texts, one text after another, (tokens, inputs)."""
    found: list[Tensor] = []
    layer = network.get_submodule(name)
    handle = layer.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0].flatten(0, -2)))
    for row in texts(tokenizer, format).rows():
        inputs = {key: torch.tensor([value]) for key, value in row.items()}
        with torch.no_grad():
            (network.eval() if format == "causal" else network.base_model.eval())(**inputs)  # type: ignore[operator, union-attr]
    handle.remove()
    return torch.cat(found)


def plain(format: str, architecture: str) -> nn.Module:
    """The network of `begun` without adapters."""
    torch.manual_seed(2)
    model = model_of(format, architecture)
    if format == "causal":
        return networks.causal(model, "", TEXTS)[0]
    return networks.begin(model, format, TEXTS, 2)[0]


@pytest.mark.parametrize(("format", "architecture"), KINDS)
def test_eva_begins_with_the_directions_in_which_inputs_vary_most(format: str, architecture: str) -> None:
    settings = PeftConfig(name="lora", r=4, alpha=8, init="eva", dropout=0.0)
    adapted, tokenizer, manifest = begun(model_of(format, architecture), format, settings)
    network, layers = plain(format, architecture), layers_of(adapted)
    assert scores(adapted.eval(), tokenizer, manifest) == scores(network.eval(), tokenizer, manifest)
    ranks = {name: layer.r["default"] for name, layer in layers.items()}
    assert 0 < max(ranks.values()) <= 8, "a layer gets at most twice the rank"
    for name, layer in layers.items():
        directions_RI = layer.lora_A["default"].weight.detach()
        torch.testing.assert_close(directions_RI @ directions_RI.T, torch.eye(len(directions_RI)))
        read_TI = inputs_of(network, name, tokenizer, format)
        read_TI = read_TI - read_TI.mean(0)
        best = torch.linalg.svdvals(read_TI)[: len(directions_RI)].square().sum()
        assert (read_TI @ directions_RI.T).square().sum() >= 0.9 * best
        assert layer.scaling["default"] == pytest.approx(2), "a rank of its own does not change the factor"


@pytest.mark.parametrize(("format", "architecture"), KINDS)
def test_corda_takes_the_part_of_the_weights_that_matters_for_the_texts(
    format: str, architecture: str
) -> None:
    """Of all matrices of the rank it leaves least of W C, where C is the covariance of the inputs."""
    settings = PeftConfig(name="lora", r=4, alpha=8, init="corda", dropout=0.0)
    adapted, tokenizer, manifest = begun(model_of(format, architecture), format, settings)
    pissa, _, _ = begun(
        model_of(format, architecture),
        format,
        PeftConfig(name="lora", r=4, alpha=8, init="pissa", dropout=0.0),
    )
    network = plain(format, architecture)
    before = scores(network.eval(), tokenizer, manifest)
    assert scores(adapted.eval(), tokenizer, manifest) == pytest.approx(before, abs=1e-4)
    left = {"corda": 0.0, "pissa": 0.0}
    others = layers_of(pissa)
    for name, layer in layers_of(adapted).items():
        read_TI = inputs_of(network, name, tokenizer, format)
        covariance_II = read_TI.T @ read_TI
        for kind, each in (("corda", layer), ("pissa", others[name])):
            weight = each.get_base_layer().weight
            rest_OI = weight.T if architecture == "gpt2" else weight
            left[kind] += float((rest_OI @ covariance_II).norm())
    assert left["corda"] < left["pissa"]


@pytest.mark.parametrize("format", ["pair", "dual", "causal"])
def test_a_folder_of_eva_scores_as_the_trained_network_did(tmp_path: Path, format: str) -> None:
    """Merged and apart, and what is written needs no further word of EVA."""
    model = base(tmp_path / "base", format, FORMATS[format])
    adapted, tokenizer, manifest = trained(model, format, PeftConfig(name="lora", r=4, init="eva"))
    before = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    assert loaded_scores(tmp_path / "model") == pytest.approx(before, abs=1e-5)
    apart = checkpoint.load_unmerged(str(tmp_path / "model"))
    assert scores(apart.network, apart.tokenizer, apart.manifest) == pytest.approx(before, abs=1e-5)
    written = json.loads((tmp_path / "model" / "adapter_config.json").read_text())
    assert (written["init_lora_weights"], written["eva_config"], written["corda_config"]) == (
        True,
        None,
        None,
    )


@pytest.mark.parametrize("init", ["eva", "corda"])
def test_a_layer_that_reads_no_tokens_gets_no_adapter(init: str) -> None:
    adapted, _, _ = begun(model_of("pair", "bert"), "pair", PeftConfig(name="lora", r=4, init=init))
    assert adapted.get_base_model().base_model.pooler is not None
    assert layers_of(adapted)
    assert not [name for name in layers_of(adapted) if "pooler" in name]


@pytest.mark.parametrize("init", ["eva", "corda"])
def test_the_same_texts_begin_the_same_adapters(init: str) -> None:
    first, second = (
        begun(model_of("causal", "llama"), "causal", PeftConfig(name="lora", r=4, init=init))[0]
        for _ in range(2)
    )
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("init", ["eva", "corda", "pissa", "olora"])
def test_a_rank_above_that_of_a_layer_is_one_sentence(init: str) -> None:
    with pytest.raises(FiglangError, match=rf"peft.init={init} begins with directions .* take peft.r=32 or"):
        begun(model_of("causal", "llama"), "causal", PeftConfig(name="lora", r=40, init=init))


@pytest.mark.parametrize("init", ["pissa", "olora"])
def test_a_rank_of_a_pattern_is_held_against_the_layers_that_it_names(init: str) -> None:
    """The largest rank that each layer has room for can be exported."""

    def laid(rank: int) -> None:
        settings = PeftConfig(name="lora", r=4, init=init, rank_pattern={"q_proj": rank})
        begun(model_of("causal", "llama"), "causal", settings)

    laid(32)
    with pytest.raises(FiglangError, match=r"has 32; take peft\.r=32 or less in place of 33"):
        laid(33)


def test_eva_with_too_few_tokens_is_one_sentence() -> None:
    network, tokenizer = networks.causal(model_of("causal", "llama"), "", TEXTS)
    rows = texts(tokenizer, "causal").rows()[:1]
    short = calibrated.Given(lambda: [{"input_ids": rows[0]["input_ids"][:3]}])
    with pytest.raises(FiglangError, match=r"finds 16 directions for peft\.r=8, but the texts have only 3"):
        lora.adapt(network, PeftConfig(name="lora", r=8, init="eva"), [], "base", None, short)


def test_texts_are_drawn_by_the_seed_and_each_is_read_once() -> None:
    def example(*texts: list[int]) -> Encoded:
        return Encoded(0, 0, texts, tuple(bytes(len(ids)) for ids in texts), (0,), None)

    twice = calibrated.drawn([example([1, 2], [1, 2, 3]), example([1, 2, 3], [1, 2])], 0)
    assert sorted(row["input_ids"] for row in twice) == [(1, 2), (1, 2, 3)]
    assert all(len(row["token_type_ids"]) == len(row["input_ids"]) for row in twice)
    many = [example([number, number + 1]) for number in range(400)]
    assert len(calibrated.drawn(many, 0)) == calibrated.MOST
    assert calibrated.drawn(many, 0) == calibrated.drawn(many[::-1], 0) != calibrated.drawn(many, 1)
