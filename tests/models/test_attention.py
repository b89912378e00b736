"""The code of a network's attention is that which is asked for, or it is refused."""

from pathlib import Path

import pytest
import torch

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import networks
from tests.running import run

TEXTS = ["The room was an oven.", "It was hot."]


def logits(attention: str) -> torch.Tensor:
    torch.manual_seed(0)
    model = ModelConfig(init="tiny", architecture="llama", family="causal", attention=attention)
    network, tokenizer = networks.causal(model, "", TEXTS)
    named = "sdpa" if attention == "auto" else attention
    assert network.config._attn_implementation == named
    with torch.inference_mode():
        found: torch.Tensor = network.eval()(**tokenizer(TEXTS[0], return_tensors="pt")).logits
    return found


def test_eager_and_sdpa_give_the_same_logits() -> None:
    usual = logits("auto")
    torch.testing.assert_close(logits("sdpa"), usual)
    torch.testing.assert_close(logits("eager"), usual, atol=1e-5, rtol=1e-4)


def test_an_encoder_takes_it_too() -> None:
    model = ModelConfig(init="tiny", architecture="bert", attention="eager")
    network, _ = networks.build(model, "pair", TEXTS, 2)
    assert network.config._attn_implementation == "eager"


@pytest.mark.parametrize(("asked", "named"), [("auto", False), ("eager", True)])
def test_the_signature_names_what_was_chosen(asked: str, named: bool, tmp_path: Path) -> None:
    words = ["model=gpt2", "model.init=tiny", f"model.attention={asked}", "data=figqa_sample"]
    ended = run(tmp_path, "evaluate.py", *words, "data.limit=4", "trainer=cpu", "trainer.progress=false")
    assert ended.returncode == 0, ended.stderr
    assert ("|attention:eager|" in ended.stdout) == named


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has them")
@pytest.mark.parametrize("attention", ["flash_attention_2", "flex"])
def test_what_needs_a_gpu_is_refused_without_one(attention: str) -> None:
    with pytest.raises(FiglangError, match=f"model.attention={attention} needs a GPU; take sdpa"):
        logits(attention)
