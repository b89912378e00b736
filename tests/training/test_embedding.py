"""Training only the used rows of the embedding is training the whole embedding."""

import copy

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForMultipleChoice, PreTrainedModel

from figlang.config import MethodConfig
from figlang.scoring.head import scorer
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.embedding import TrimmedEmbedding, restore, trim


def network() -> PreTrainedModel:
    sizes = {
        "vocab_size": 60,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    torch.manual_seed(0)
    config = AutoConfig.for_model("bert", **sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return AutoModelForMultipleChoice.from_config(config).train()  # type: ignore[no-any-return]


def test_several_steps_of_adamw_give_the_weights_of_the_whole_embedding() -> None:
    whole, trimmed = network(), network()
    ids = torch.randint(1, 20, (5, 3, 2, 7), generator=torch.Generator().manual_seed(0))
    kept = trim(trimmed, set(ids.flatten().tolist()))
    assert kept is not None
    assert isinstance(trimmed.get_input_embeddings(), TrimmedEmbedding)
    for model in (whole, trimmed):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0, fused=True)
        for step in ids:
            model(input_ids=step, labels=torch.tensor([0, 1, 0])).loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    restore(trimmed, kept)
    for (name, ours), (other, theirs) in zip(
        trimmed.named_parameters(), whole.named_parameters(), strict=True
    ):
        assert name == other
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_clipping_is_that_of_torch(scale: float) -> None:
    ours = nn.Linear(6, 4)
    nn.init.constant_(ours.weight, scale)
    ours(torch.ones(3, 6)).square().mean().backward()
    theirs = copy.deepcopy(ours)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert mine.grad is not None
        other.grad = mine.grad.clone()
    module = CrossEntropyModule(ours, MethodConfig(format="pair", clip=1.0), scorer("pair", 1.0), 1, 0)
    module.configure_gradient_clipping(torch.optim.AdamW(ours.parameters()))
    nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine.grad, other.grad)
