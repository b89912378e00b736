"""Networks that cannot share what they read are found out, and score all the same."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, LlamaModel

from figlang.scoring.tree import anatomy
from figlang.scoring.tree.causal import CausalScorer
from tests.causal_models import check, network, requests
from tests.scoring.tree.test_causal import TOKENIZER


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({"rope_type": "default", "rope_theta": 1e4}, None),
        ({"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}, 640),
        (
            {
                "full_attention": {"rope_type": "dynamic", "factor": 2.0},
                "sliding_attention": {"rope_type": "default"},
            },
            640,
        ),
    ],
)
def test_rotary_frequencies_that_depend_on_the_longest_input_are_known(
    parameters: dict[str, Any], limit: int | None
) -> None:
    config = AutoConfig.for_model("llama", max_position_embeddings=640)
    config.rope_parameters = parameters
    assert anatomy._by_length(config) == limit


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_network_that_ignores_the_mask_is_found_out(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = network("llama").to(dtype)
    body, forward = plain.base_model, plain.base_model.forward

    def ignoring(input_ids: Tensor, position_ids: Tensor | None = None, **inputs: Any) -> Any:
        return forward(input_ids=input_ids, position_ids=position_ids, **{**inputs, "attention_mask": None})

    monkeypatch.setattr(body, "forward", ignoring)
    scorer = CausalScorer(plain, TOKENIZER)
    fallback = scorer.score(requests()).fallback
    assert fallback is not None
    assert "does not follow a tree-shaped mask" in fallback
    if dtype == torch.float32:
        check(plain, scorer, requests())


def test_a_network_with_a_mask_of_its_own_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = network("llama")
    body, forward = plain.base_model, plain.base_model.forward

    def causal(
        input_ids: Tensor,
        position_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **inputs: Any,
    ) -> Any:
        if attention_mask is not None and attention_mask.dim() == 4:  # what comes later alone is hidden
            held = attention_mask.shape[-1] - attention_mask.shape[-2]
            attention_mask = torch.full_like(attention_mask, torch.finfo(attention_mask.dtype).min).triu(
                held + 1
            )
        return forward(
            input_ids=input_ids, position_ids=position_ids, attention_mask=attention_mask, **inputs
        )

    monkeypatch.setattr(body, "forward", causal)
    assert "does not follow a tree-shaped mask" in str(
        CausalScorer(plain, TOKENIZER).score(requests()).fallback
    )


def test_a_network_that_changes_its_logits_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = network("llama")
    forward = plain.forward

    def sharper(input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None) -> Any:
        output = forward(input_ids=input_ids, attention_mask=attention_mask)
        output.logits = output.logits * 2
        if labels is not None:
            output["loss"] = plain.loss_function(logits=output.logits, labels=labels, vocab_size=300)
        return output

    monkeypatch.setattr(plain, "forward", sharper)
    scorer = CausalScorer(plain, TOKENIZER)
    fallback = scorer.score(requests()).fallback
    assert fallback is not None
    assert "not what its vocabulary matrix makes of its body's states" in fallback
    check(plain, scorer, requests())


class Near(LlamaModel):
    """Looks no further back than 64 places, whatever its mask says."""

    def forward(
        self, input_ids: Tensor, attention_mask: Any = None, past_key_values: Any = None, **inputs: Any
    ) -> Any:
        held = 0 if past_key_values is None else past_key_values.get_seq_length()
        behind_TK = held + torch.arange(input_ids.shape[1])[:, None] - torch.arange(held + input_ids.shape[1])
        if attention_mask is None or attention_mask.dim() == 2:
            attention_mask = torch.zeros(behind_TK.shape).masked_fill(
                behind_TK < 0, torch.finfo(torch.float32).min
            )[None, None]
        near = attention_mask.masked_fill(behind_TK >= 64, torch.finfo(torch.float32).min)
        return super().forward(input_ids, attention_mask=near, past_key_values=past_key_values, **inputs)


def test_code_that_is_not_transformers_own_shares_nothing() -> None:
    plain = network("llama")
    plain.base_model.__class__ = Near  # the probe is shorter than its window
    scorer = CausalScorer(plain, TOKENIZER)
    assert (
        scorer.score(requests()).fallback
        == "it has code that is not transformers' own (tests.scoring.tree.test_causal_found_out.Near)"
    )
    check(plain, scorer, requests())
