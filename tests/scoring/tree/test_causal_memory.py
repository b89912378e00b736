"""The memory of an evaluation: what eight billion weights need beside them, and what happens if it lacks."""

import logging
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM, DynamicCache, LlamaConfig, PreTrainedModel

from benchmarks.gpu import LARGE
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.states import read_tree
from figlang.training.meters import Live, peak
from tests import causal_models

GB = 1e9
PACK = 2048  # tokens that are read together on a GPU


def huge() -> PreTrainedModel:
    """The shape of Llama 3.1 8B in bf16, whose tensors have sizes and no values."""
    with torch.device("meta"):
        network: PreTrainedModel = AutoModelForCausalLM.from_config(
            LlamaConfig(**LARGE), dtype=torch.bfloat16
        )
    return network.eval()


@torch.inference_mode()
def test_eight_billion_weights_are_evaluated_beside_less_than_two_gb() -> None:
    network = huge()
    tokens, visible = torch.zeros(PACK, dtype=torch.int), torch.ones(PACK, PACK, dtype=torch.bool).tril()
    parts = [*network.parameters(), *network.buffers()]
    with Live(parts) as body:
        states_PH = read_tree(network.base_model, tokens, tokens, visible, DynamicCache())
    vocabulary = LARGE["vocab_size"]
    rows = 2**24 // vocabulary  # of the budget of CausalScorer
    with Live([*parts, states_PH]) as head:
        logits_RV = network.lm_head(states_PH[:rows]).float()
        logits_RV.sub_(1).exp2_()
    assert states_PH.shape == (PACK, LARGE["hidden_size"])
    # Keys and values, the mask, and some activations of a layer at a time.
    assert peak(body.changes, set()) < 1 * GB
    assert peak(head.changes, set()) < 0.2 * GB


def limited(body: nn.Module, most_tokens: int) -> Any:
    """The body has no memory for more tokens at a time. Returns what removes this again."""

    def look(_: nn.Module, inputs: Any, given: dict[str, Any]) -> None:
        if given["input_ids"].numel() > most_tokens:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    return body.register_forward_pre_hook(look, with_kwargs=True)


@pytest.mark.parametrize("family", ["llama", "mamba"])  # read as a trie, and whole
def test_scores_are_the_same_when_packs_had_to_be_halved(
    family: str, caplog: pytest.LogCaptureFixture
) -> None:
    network = causal_models.network(family, **(causal_models.TREE | causal_models.WHOLE)[family])
    asked = [each for each in causal_models.requests() if len(each.continuation) < 60]
    expected = CausalScorer(network, causal_models.tokenizer(), "add").score(asked)
    scorer = CausalScorer(network, causal_models.tokenizer(), "add", pack=1024, batch_tokens=1024)
    limit = limited(scorer.anatomy.body, 100)
    with caplog.at_level(logging.WARNING, logger="figlang"):
        found = scorer.score(asked)
        again = scorer.score(asked)
    limit.remove()
    halvings = [record.getMessage() for record in caplog.records if record.name == "figlang"]
    assert halvings[0] == "memory is not enough; from now on at most 512 tokens are read together"
    assert len(halvings) == len(set(halvings)) > 1, "the second time it begins with what fits"
    for one, other, third in zip(expected.log_probs, found.log_probs, again.log_probs, strict=True):
        assert other.tolist() == pytest.approx(one.tolist(), abs=1e-4)
        assert torch.equal(other, third)


def test_a_network_for_which_no_pack_is_small_enough_says_so() -> None:
    scorer = CausalScorer(causal_models.network("llama"), causal_models.tokenizer(), "add")
    limited(scorer.anatomy.body, 0)
    with pytest.raises(torch.OutOfMemoryError):
        scorer.score(causal_models.requests())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_mask_of_a_trie_is_in_the_precision_of_the_network(dtype: torch.dtype) -> None:
    network = causal_models.network("llama").to(dtype)
    scorer, seen = CausalScorer(network, causal_models.tokenizer(), "add"), []
    scorer.anatomy.body.register_forward_pre_hook(
        lambda _, inputs, given: seen.append(given["attention_mask"]), with_kwargs=True
    )
    scorer.score(causal_models.requests())
    assert {mask.dtype for mask in seen} == {dtype}
    assert all(bool(mask.isfinite().all()) for mask in seen)
