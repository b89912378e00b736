"""The loaded network is the one asked for: heads from the files, weights laid out and quantised."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoModelForPreTraining, AutoModelForSequenceClassification

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import layout, networks
from figlang.scoring.tree.causal import CausalScorer
from tests import causal_models, masked_models


def config(folder: Path, **settings: Any) -> ModelConfig:
    return ModelConfig(name="tiny", name_or_path=str(folder), **settings)


@pytest.mark.parametrize("family", masked_models.FAMILIES)
def test_an_encoder_comes_with_the_head_of_its_files(family: str, tmp_path: Path) -> None:
    tokenizer = masked_models.word_pieces()
    saved = masked_models.network(family, tokenizer)
    saved.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    network, _ = networks.masked(config(tmp_path))
    for name, weights in saved.state_dict().items():
        assert torch.equal(network.state_dict()[name], weights), name
    assert networks.masked(config(tmp_path, dtype="bfloat16"))[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("bert", AutoModel),
        ("roberta", AutoModelForSequenceClassification),
        ("electra", AutoModelForPreTraining),
    ],
)
def test_a_network_without_the_head_is_refused(family: str, kind: Any, tmp_path: Path) -> None:
    tokenizer = masked_models.word_pieces()
    kind.from_config(masked_models.network(family, tokenizer).config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        FiglangError, match=r"has no masked-LM head \(\S+ and \d+ more weights are missing\).*take bert,"
    ) as error:
        networks.masked(config(tmp_path))
    assert "\n" not in str(error.value)


def test_a_causal_network_has_no_masked_head(tmp_path: Path) -> None:
    causal_models.network("gpt2").save_pretrained(tmp_path)
    causal_models.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(FiglangError, match=r"cannot load model .* as AutoModelForMaskedLM") as error:
        networks.masked(config(tmp_path))
    assert "\n" not in str(error.value)


# Large networks


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    causal_models.network("llama", hidden_size=64, intermediate_size=128, head_dim=16).save_pretrained(
        tmp_path
    )
    causal_models.tokenizer().save_pretrained(tmp_path)
    return tmp_path


def scorer(folder: Path, **settings: Any) -> CausalScorer:
    network, tokenizer = networks.causal(config(folder, family="causal", **settings), str(folder))
    return CausalScorer(layout.place(network, torch.device("cpu")), tokenizer)


def scores(scorer: CausalScorer) -> list[float]:
    return torch.cat(list(scorer.score(causal_models.requests()).log_probs)).tolist()


def test_weights_laid_out_over_what_is_here_score_the_same(llama: Path) -> None:
    pytest.importorskip("accelerate")
    assert scores(scorer(llama, device_map="auto")) == pytest.approx(scores(scorer(llama)), abs=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.2)])
def test_weights_on_disk_score_the_same(
    llama: Path, tmp_path: Path, dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerate = pytest.importorskip("accelerate")
    # Where accelerate brings weights, modules keep the forward that it found, and sums in float32 change
    # nothing.
    monkeypatch.setattr("figlang.scoring.tree.anatomy._steady", lambda *_: False)
    network, tokenizer = networks.causal(config(llama, dtype=dtype), str(llama))
    exact = scores(CausalScorer(network, tokenizer))
    memory, disk = (
        ("model.embed_tokens", "model.rotary_emb", "model.layers.0"),
        ("model.layers.1", "model.norm", "lm_head"),
    )
    parts = dict.fromkeys(memory, "cpu") | dict.fromkeys(disk, "disk")
    spread = accelerate.dispatch_model(network, parts, main_device="cpu", offload_dir=str(tmp_path / "disk"))
    assert spread.lm_head.weight.is_meta
    assert scores(CausalScorer(spread, tokenizer)) == pytest.approx(exact, abs=tolerance)


# On CPUs bitsandbytes multiplies in 16 bits whatever the network's precision, and LLM.int8 takes the columns
# that it keeps in 16 bits from the whole batch: a score depends a little on its companions.
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("quantization", "own", "exact"), [("8bit", 0.99, 0.98), ("4bit", 0.999, 0.7)])
def test_few_bits_score_as_that_network_does_by_itself(
    llama: Path, quantization: str, own: float, exact: float, dtype: str
) -> None:
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    few = scorer(llama, quantization=quantization, dtype=dtype)
    assert few.score(causal_models.requests()).fallback is None
    network, _ = networks.causal(
        config(llama, family="causal", quantization=quantization, dtype=dtype), str(llama)
    )
    assert layout.precision(network) == f"{dtype}+{quantization}"
    sequences, _ = few.encoder.encode(causal_models.requests())
    alone = [
        value for tokens in sequences for value in causal_models.values(network, tokens.ids, tokens.start)
    ]
    found = scores(few)
    assert torch.corrcoef(torch.tensor([found, alone]))[0, 1] > own
    assert torch.corrcoef(torch.tensor([found, scores(scorer(llama))]))[0, 1] > exact


@pytest.mark.parametrize(
    ("absent", "settings", "message"),
    [
        ("accelerate", {"device_map": "auto"}, "model.device_map=auto needs accelerate"),
        ("bitsandbytes", {"quantization": "4bit"}, "model.quantization=4bit needs bitsandbytes"),
    ],
)
def test_missing_packages_are_named(
    absent: str, settings: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == absent else found(name) or name
    )
    with pytest.raises(FiglangError, match=rf"{message}; install with `pip install 'figlang\[large\]'`"):
        layout.arguments(ModelConfig(family="causal", **settings))
