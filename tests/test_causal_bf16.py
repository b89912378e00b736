"""Scores of causal networks in bf16: near float32, and nearer than those of the network itself."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from figlang.scoring import anatomy
from figlang.scoring.anatomy import dissect
from figlang.scoring.causal import CausalScorer
from figlang.scoring.states import tree_reads
from figlang.scoring.trie import grow
from tests.causal_models import NO_BLOCKS, TREE, network, requests, tokenizer, values

TOKENIZER = tokenizer()


@pytest.mark.parametrize("family", ["llama", "gemma2", "granite", "phi3"])
def test_bf16_is_near_float32_and_still_shares(family: str) -> None:
    plain = network(family, **TREE[family])
    exact = CausalScorer(plain, TOKENIZER).score(requests()).log_probs
    scored = CausalScorer(plain.to(torch.bfloat16), TOKENIZER).score(requests())
    assert scored.fallback is None
    for one, other in zip(exact, scored.log_probs, strict=True):
        assert other.dtype == torch.float32
        assert one.tolist() == pytest.approx(other.tolist(), abs=1.5)


@pytest.mark.parametrize("family", ["llama", "gemma2", "cohere"])
def test_logits_that_are_made_anew_are_those_of_the_vocabulary_matrix(family: str) -> None:
    found = dissect(network(family, **TREE[family]))
    states, tokens = torch.randn(6, 32), torch.tensor([0, 5, 299, 7, 7, 100])
    with torch.no_grad():
        expected = found.head(states)[torch.arange(6), tokens]
        assert torch.allclose(found.exact(states, tokens), expected, atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "llama", "gpt_neox", "qwen2", "phi3"])
def test_bf16_scores_are_nearer_to_float32_than_those_of_the_network_itself(family: str) -> None:
    plain = network(family, **TREE[family])
    exact = torch.cat(CausalScorer(plain, TOKENIZER).score(requests()).log_probs)
    scorer = CausalScorer(plain.to(torch.bfloat16), TOKENIZER)
    found = torch.cat(scorer.score(requests()).log_probs)
    sequences, _ = scorer.encoder.encode(requests())
    rounded = torch.cat([torch.tensor(values(plain, tokens.ids, tokens.start)) for tokens in sequences])
    assert float((found - exact).square().mean()) < float((rounded - exact).square().mean())


def squared_error(network_: PreTrainedModel, exact: list[Tensor], steady: bool) -> float:
    scorer = CausalScorer(network_, TOKENIZER, bos="add")
    scorer._anatomy = replace(scorer._anatomy, steady=steady and scorer._anatomy.steady)
    found = scorer.score(requests())
    assert found.fallback is None
    return float((torch.cat(found.log_probs) - torch.cat(exact)).square().mean())


@pytest.mark.parametrize("family", TREE)
def test_in_bf16_sums_of_layers_in_float32_are_no_further_from_float32(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("figlang.cpu.blocks.in_bf16", lambda: False)  # sums alone
    exact = CausalScorer(network(family, **TREE[family]), TOKENIZER, bos="add").score(requests()).log_probs
    half = network(family, **TREE[family]).to(torch.bfloat16)
    kinds = [type(module) for module in half.modules()]
    assert dissect(half).steady == (family not in NO_BLOCKS)
    assert squared_error(half, exact, True) <= squared_error(half, exact, False)
    assert [type(module) for module in half.modules()] == kinds
    if family in ("gpt2", "llama", "gpt_neox", "qwen2", "phi3"):
        assert squared_error(half, exact, True) < 0.95 * squared_error(half, exact, False)


def test_in_bf16_rounded_attention_weights_add_little(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = {}
    for rounded in (False, True):
        monkeypatch.setattr("figlang.cpu.blocks.in_bf16", lambda: rounded)  # noqa: B023
        errors[rounded] = 0.0
        for family in ("gpt2", "llama", "gpt_neox", "qwen2", "phi3", "opt", "granite"):
            exact = CausalScorer(network(family, **TREE[family]), TOKENIZER, bos="add").score(requests()).log_probs
            errors[rounded] += squared_error(network(family, **TREE[family]).to(torch.bfloat16), exact, True)
    assert errors[False] != errors[True] < 1.1 * errors[False]


@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma", "qwen2", "mistral"])
def test_in_bf16_what_is_kept_stays_in_bf16_whatever_the_sums_are(family: str) -> None:
    half = network(family, **TREE[family]).to(torch.bfloat16)
    sequences, _ = CausalScorer(half, TOKENIZER).encoder.encode(requests())
    for read in tree_reads(half.base_model, grow(sequences), 40, steady=True):
        assert {kept.dtype for layer in read.cache.layers for kept in (layer.keys, layer.values)} == {torch.bfloat16}


def test_logits_in_float32_help_by_themselves() -> None:
    plain = network("llama")
    exact = CausalScorer(plain, TOKENIZER, bos="add").score(requests()).log_probs
    half = plain.to(torch.bfloat16)
    sequences, _ = CausalScorer(half, TOKENIZER, bos="add").encoder.encode(requests())
    own = torch.cat([torch.tensor(values(half, tokens.ids, tokens.start)) for tokens in sequences])
    assert squared_error(half, exact, False) < float((own - torch.cat(exact)).square().mean())


class OwnLinear(nn.Linear):
    """Multiplies by itself what it takes to have its own precision."""

    def forward(self, input: Tensor) -> Tensor:
        return input @ self.weight.t()


def test_parts_that_take_bf16_alone_keep_a_network_in_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anatomy, "KNOWN", (*anatomy.KNOWN, "tests"))
    half = network("gpt_neox").to(torch.bfloat16)
    half.gpt_neox.layers[0].mlp.dense_h_to_4h.__class__ = OwnLinear
    assert not dissect(half).steady
    assert CausalScorer(half, TOKENIZER).score(requests()).fallback is None
    assert not dissect(network("llama")).steady  # nothing to gain
